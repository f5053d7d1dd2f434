// Which kernel a shape gets where the caller leaves the choice open (IKBO_STAGE_BEST): rows that were measured, by class of shape.
// Without a row for its class, a shape gets what the backend derives from its sizes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ikbo.h"

namespace ikbo {

struct Choice {
    int32_t stage = IKBO_STAGE_BEST; // BEST: nothing was measured
    int32_t tile = 0;                // as in the shapes of ikbo.h
};

// Shapes of one class get one choice: operator, type and the logarithms of the sizes, rounded:
// "linear-compression bf16 10 4 9 8 10 10".
std::string class_of(const ikbo_concat_linear_shape &shape);
std::string class_of(const ikbo_linear_compression_shape &shape);
std::string class_of(const ikbo_attention_shape &shape);

// Text, a row a line: `CLASS = STAGE TILE`, the rest of the line and lines that begin with # for people. A line that is
// anything else is left out, so that a damaged file costs rows and nothing more.
class Choices {
  public:
    Choices() = default;
    explicit Choices(std::string_view text) { add(text); }
    // Later rows replace earlier ones.
    void add(std::string_view text);
    Choice find(const std::string &shape_class) const;
    std::size_t size() const { return rows_.size(); }

  private:
    std::map<std::string, Choice, std::less<>> rows_;
};

// Where the rows measured on this machine lie: $XDG_CACHE_HOME or ~/.cache, then ikbo-lens/tuned/CARD-DRIVER-VERSION.txt. Empty
// where there is no home. Whoever writes it moves it into place whole.
std::string tuned_file(std::string_view card, std::string_view driver);

// The shipped rows and those of `file`, which come last.
Choices load_choices(std::string_view shipped, const std::string &file);

} // namespace ikbo
