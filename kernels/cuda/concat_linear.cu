// Concat-linear, warp-specialized and persistent:
//   y[r, m] = activation( sum over direct blocks x_i[r] W_i^T + sum over addends rows_s[row_of_s[r], m] )
//
// The pipeline is that of split_rings.cuh: a chunk is 64 rows r, D[64 r x Width m] = x W^T, both operands K-major; the two
// blocks of a cluster hold Width columns of y each and share the rows of x by multicast. x comes from up to kMaxInputs tensors,
// one after the other along K, each padded to whole 64-blocks: the copy engine fills zeros past a row's end, and the packed
// weight has zeros there.
// Mapped blocks are multiplied before, once per source row (concat_parts.cuh), and rounded to T; a row of y looks its rows up
// here and adds them in fp32 before the activation and its own rounding. The first addend is read ahead: its first 128
// columns while the tile's products run, the others while those are stored. Where both rows of every thread of a warp look the
// same row up, which neighbours mostly do, it is read once, all of it while the products run. Rows of addends are interleaved, so
// that a thread's columns are 16-byte vectors.
// One mapped block is multiplied in this launch, by its first clusters, which get fewer rows of y for that; the first tile of
// everybody waits at its end until all of that block's rows are in memory. Clusters then wait for each other, so such a launch
// is cooperative. Other mapped blocks are multiplied by launches before this one (concat_parts_*).
//
// Resident: K fits the weight ring (64 x slots: 256 for Width 256, 512 for 128), and a row's result does not depend on its
// position. Otherwise warpgroup 1 sums K in another cyclic order than warpgroup 0.
//
// Shared memory (Width = 256): W ring 4 x 32 KiB, x rings 2 x 4 x 8 KiB, staging 4 x 8 KiB = 224 KiB.
// Registers (Width = 256): 128 accumulators + 32 of the addend per consumer thread; 232 for consumers, 40 for the others.
#include "concat_linear.h"

#include "activation.cuh"
#include "concat_parts.cuh"

namespace {

using namespace ikbo;
using namespace ptx;

struct InputMaps {
    CUtensorMap map[kMaxInputs];
};

constexpr int kGroups = kConcatStagedColumns / 8;  // 8-column groups of the accumulator that are stored together
constexpr int kVectors = kGroups / 4;              // 16-byte vectors of a thread in 64 columns of an addend's row

// 64 columns of one of a thread's two rows of an addend, in the order of interleaved_column: word j holds its pair of group j.
struct AddendPart {
    uint4 value[kVectors];

    template <typename T>
    IKBO_DEVICE void load(const T *row, int part) {
#pragma unroll
        for (int v = 0; v < kVectors; ++v)
            value[v] = *reinterpret_cast<const uint4 *>(row + part * kConcatStagedColumns + 8 * v);
    }
    // Adds to row h (0 or 1) of the thread's accumulators of these columns.
    template <typename T>
    IKBO_DEVICE void add_to(float *d, int h) const {
        add<T>([&](int at, float2 pair) {
            d[at + 2 * h] += pair.x;
            d[at + 2 * h + 1] += pair.y;
        });
    }
    // Adds to both rows.
    template <typename T>
    IKBO_DEVICE void add_to_both(float *d) const {
        add<T>([&](int at, float2 pair) {
            d[at] += pair.x;
            d[at + 1] += pair.y;
            d[at + 2] += pair.x;
            d[at + 3] += pair.y;
        });
    }

  private:
    template <typename T, class Each>
    IKBO_DEVICE void add(const Each &each) const {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
            const uint32_t words[4] = {value[v].x, value[v].y, value[v].z, value[v].w};
#pragma unroll
            for (int i = 0; i < 4; ++i) each(4 * (4 * v + i), unpack<T>(words[i]));
        }
    }
};

template <typename T, int Width, bool Resident>
IKBO_DEVICE void consume(RingConsumer<T, ConcatShape<Width>, Major::K, Resident> &consumer,
                         const RingTiles &tiles, const ConcatLinearWork &work, int first_column) {
    constexpr int kParts = Width / kConcatStagedColumns, kPartRegisters = kConcatStagedColumns / 2;
    constexpr int kAhead = kParts % 2 == 0 ? 2 : 1;  // parts of the first addend that are read together, for each of the two rows
    constexpr bool kJoins = kParts == 2 * kAhead;    // or all parts for one row
    const RingMemory<ConcatShape<Width>> &memory = consumer.memory;
    const int warpgroup = consumer.warpgroup, lane = consumer.thread % 32, warp = consumer.thread / 32;
    const Epilogue &epilogue = work.epilogue;

    const int before = work.ring.k_blocks - 1;  // K blocks before the last one of the tile, whichever comes first

    const int my_row = warp * 16 + lane / 4, my_column = first_column + interleaved_column(2 * (lane % 4));
    const auto row_of = [&](const Addend &addend, int tile, int h) {
        const int row = min(tiles.chunk(tile, warpgroup) * kRingChunk + my_row + 8 * h, work.rows - 1);
        return addend.row_of == nullptr ? 0 : __ldg(addend.row_of + row);
    };
    const auto row_at = [&](const Addend &addend, int source) {
        return static_cast<const T *>(addend.rows) + source * addend.stride + my_column;
    };

    if (Resident) {
        if (warpgroup == 1) consumer.pass_turn();
    } else {
        consumer.skip(work.ring.skew * warpgroup);
    }
    int next[2] = {0, 0};  // source rows of the first addend, read a tile ahead
    bool joined = false;   // both are the same, in every thread of the warp
    if (epilogue.addends > 0) {
#pragma unroll
        for (int h = 0; h < 2; ++h) next[h] = row_of(epilogue.addend[0], 0, h);
    }
#pragma unroll 1
    for (int tile = 0; tile < tiles.count; ++tile) {
        float d[Width / 2];
        AddendPart first[2 * kAhead];  // of the first addend, in flight during the products; joined: part i is first[i]
        const T *rows[2];
        const auto load_first = [&](int part) {
#pragma unroll
            for (int h = 0; h < 2; ++h)
#pragma unroll
                for (int i = 0; i < kAhead; ++i) first[h * kAhead + i].load(rows[h], part + i);
        };
        const auto set_rows = [&](int tile) {
            if (kJoins) joined = __all_sync(0xffffffffu, next[0] == next[1]);
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                rows[h] = row_at(epilogue.addend[0], next[h]);
                next[h] = row_of(epilogue.addend[0], min(tile + 1, tiles.count - 1), h);
            }
            if (joined) rows[1] = rows[0] + kAhead * kConcatStagedColumns;
        };
        if (epilogue.addends > 0 && tile > 0) {
            set_rows(tile);
            load_first(0);
        }
        if (Resident) consumer.await_turn();
        consumer.template tile<kRingBlockK / kStepK>(d, before, 0, [] {}, [&] {
            const bool last = warpgroup == 1 && tile + 1 == tiles.count;  // nobody waits for that turn
            if (Resident && !last) consumer.pass_turn();
            consumer.await_staging(tile, Resident ? 0 : kParts - 1);
        });
        if (tile == 0) {
            if (work.part.blocks > 0) {
                consumer.await(work.part.finished, work.part.blocks * work.part.ring.consumers);
            } else {
                wait_for_previous_grid();
            }
            if (epilogue.addends > 0) {
                set_rows(0);
                load_first(0);
            }
        }

#pragma unroll 1
        for (int s = 1; s < epilogue.addends; ++s) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const T *row = row_at(epilogue.addend[s], row_of(epilogue.addend[s], tile, h));
#pragma unroll
                for (int part = 0; part < kParts; ++part) {
                    AddendPart other;
                    other.load(row, part);
                    other.template add_to<T>(d + part * kPartRegisters, h);
                }
            }
        }

#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            float *values = d + part * kPartRegisters;
            if (kJoins && joined) {
                first[part].template add_to_both<T>(values);
            } else if (epilogue.addends > 0 && part % kAhead == 0) {
#pragma unroll
                for (int h = 0; h < 2; ++h)
#pragma unroll
                    for (int i = 0; i < kAhead; ++i)
                        first[h * kAhead + i].template add_to<T>(values + i * kPartRegisters, h);
                if (part + kAhead < kParts) load_first(part + kAhead);
            }
            if (epilogue.activation != 0) {
#pragma unroll
                for (int i = 0; i < kPartRegisters; ++i) values[i] = activate(values[i], epilogue.activation);
            }
            if (Resident && part > 0) consumer.await_staging(tile, part);
            const uint32_t buffer = memory.staging(part);
            const int row = warp * 16 + (lane & 7) + 8 * ((lane >> 3) & 1);
#pragma unroll
            for (int j = 0; j < kGroups; j += 2) {
                const float *v = values + 4 * j;
                store_matrix_x4(buffer + row * 128 + (((j + (lane >> 4)) ^ (row & 7)) << 4), pack<T>(v[0], v[1]),
                                pack<T>(v[2], v[3]), pack<T>(v[4], v[5]), pack<T>(v[6], v[7]));
            }
            consumer.arrive_staged(part);
        }
    }
    if (!Resident) consumer.skip(work.ring.skew * (1 - warpgroup));
}

struct Maps {
    const CUtensorMap *weight, *part_weight, *part_input, *output;
    const InputMaps *inputs;
};

template <typename T, int Width, bool Resident>
IKBO_DEVICE void run(const Maps &maps, const ConcatLinearWork &work) {
    extern __shared__ __align__(1024) uint8_t bytes[];
    using Shape = ConcatShape<Width>;
    const RingMemory<Shape> memory{__shfl_sync(0xffffffffu, (shared_address(bytes) + 1023) & ~1023u, 0)};
    const int warpgroup = warpgroup_index(), rank = static_cast<int>(cluster_rank());
    const RingTiles part_tiles(work.part.ring), tiles(work.ring);
    using PartShape = ConcatPartShape<Width>;
    const RingMemory<PartShape> part_memory{memory.base};
    const PartTile part(work.part, part_tiles, rank, PartShape::width);
    const int first_column = (tiles.width_pair * 2 + rank) * Width;
    const auto locate = [](int chunk) { return chunk * kRingChunk; };  // first row

    if (threadIdx.x == 0) memory.init_barriers();
    cluster_sync();

    if (warpgroup == kConsumers) {
        fewer_registers<40>();
        const int warp = static_cast<int>(threadIdx.x) / 32 - 4 * kConsumers;
        if (elect_one()) {
            const auto load_part = [&](uint32_t to, uint32_t barrier, int row, int block) {
                tma_load_multicast(to, maps.part_input, barrier, 0b11, part.k_start + block * kRingBlockK,
                                   row + rank * (kRingChunk / 2));
            };
            const auto load_box = [&](uint32_t to, uint32_t barrier, int row, int block) {
                int i = 0, first_block = 0;
                while (block >= work.end_block[i]) first_block = work.end_block[i++];
                tma_load_multicast(to, &maps.inputs->map[i], barrier, 0b11, (block - first_block) * kRingBlockK,
                                   row + rank * (kRingChunk / 2));
            };
            if (warp == 0) {
                Ring<Shape::weight_slots> weights;
                load_weights(part_memory, weights, part_tiles, work.part.ring, maps.part_weight, part.first_column, part.k_start);
                if constexpr (Resident) {
                    load_weight_boxes(memory, weights, tiles.count > 0 ? work.ring.k_blocks : 0, work.ring, maps.weight,
                                      first_column, 0);
                } else {
                    load_weights(memory, weights, tiles, work.ring, maps.weight, first_column);
                }
            } else if (warp == 1) {
                store_outputs<Resident>(memory, tiles, locate,
                              [&](uint32_t from, int row, int part) {
                                  tma_store(maps.output, from, first_column + part * kConcatStagedColumns, row);
                              });
            } else {
                Ring<Shape::input_slots> inputs;
                load_inputs(3 - warp, part_memory, inputs, part_tiles, work.part.ring, rank, locate, load_part);
                load_inputs(3 - warp, memory, inputs, tiles, work.ring, rank, locate, load_box);
            }
        }
        __syncwarp();
    } else {
        more_registers<232>();
        const int thread = static_cast<int>(threadIdx.x) % 128;
        RingConsumer<T, PartShape, Major::K, false> walk{part_memory, work.part.ring, warpgroup, thread};
        if (part_tiles.count > 0) {
            multiply_parts<T, Width>(walk, part_tiles, work.part, part);
            finish_parts<T, Width>(walk, work.part);
        }
        RingConsumer<T, Shape, Major::K, Resident> consumer{memory,       work.ring,   warpgroup,   thread,
                                                            walk.weights, walk.inputs, walk.weights};
        if (tiles.count > 0) consume<T, Width, Resident>(consumer, tiles, work, first_column);  // else nothing is loaded
        __syncwarp();
    }
    // No block leaves while its peer may still multicast into it or arrive on its barriers.
    cluster_sync();
    if (work.part.blocks == 0) return;
    // The last cluster to leave makes the counters ready for the next launch.
    const uint32_t clusters = gridDim.x / 2;
    if (threadIdx.x == 0 && rank == 0 && atomicInc(work.part.left, clusters - 1) == clusters - 1) {
        *work.part.arrived = 0;
        *work.part.finished = 0;
    }
}

template <typename T, int Width>
IKBO_DEVICE void run_parts(const CUtensorMap *weight, const CUtensorMap *input, const ConcatPartsWork &work) {
    extern __shared__ __align__(1024) uint8_t bytes[];
    using Shape = ConcatPartShape<Width>;
    const RingMemory<Shape> memory{__shfl_sync(0xffffffffu, (shared_address(bytes) + 1023) & ~1023u, 0)};
    const int warpgroup = warpgroup_index(), rank = static_cast<int>(cluster_rank());
    const RingTiles tiles(work.ring);
    const PartTile part(work, tiles, rank, Shape::width);

    let_next_grid_start();
    if (threadIdx.x == 0) memory.init_barriers();
    cluster_sync();

    if (warpgroup == kConsumers) {
        fewer_registers<40>();
        const int warp = static_cast<int>(threadIdx.x) / 32 - 4 * kConsumers;
        if (elect_one()) {
            if (warp == 0) {
                Ring<Shape::weight_slots> ring;
                load_weights(memory, ring, tiles, work.ring, weight, part.first_column, part.k_start);
            } else if (warp >= 2) {
                Ring<Shape::input_slots> ring;
                load_inputs(
                    3 - warp, memory, ring, tiles, work.ring, rank, [](int chunk) { return chunk * kRingChunk; },
                    [&](uint32_t to, uint32_t barrier, int row, int block) {
                        tma_load_multicast(to, input, barrier, 0b11, part.k_start + block * kRingBlockK,
                                           row + rank * (kRingChunk / 2));
                    });
            }
        }
        __syncwarp();
    } else {
        more_registers<232>();
        RingConsumer<T, Shape, Major::K, false> walk{memory, work.ring, warpgroup,
                                                     static_cast<int>(threadIdx.x) % 128};
        multiply_parts<T, Width>(walk, tiles, work, part);
        __syncwarp();
    }
    cluster_sync();
}

}  // namespace

#define IKBO_KERNEL(name, T, width, resident)                                                                          \
    extern "C" __global__ void __launch_bounds__(kRingThreads, 1)                                                      \
        name(const __grid_constant__ CUtensorMap weight, const __grid_constant__ InputMaps inputs,                     \
             const __grid_constant__ CUtensorMap part_weight, const __grid_constant__ CUtensorMap part_input,          \
             const __grid_constant__ CUtensorMap output, const __grid_constant__ ConcatLinearWork work) {              \
        run<T, width, resident>({&weight, &part_weight, &part_input, &output, &inputs}, work);                         \
    }
#define IKBO_PARTS(name, T, width)                                                                                     \
    extern "C" __global__ void __launch_bounds__(kRingThreads, 1)                                                      \
        name(const __grid_constant__ CUtensorMap weight, const __grid_constant__ CUtensorMap input,                    \
             const __grid_constant__ ConcatPartsWork work) {                                                           \
        run_parts<T, width>(&weight, &input, work);                                                                    \
    }
#define IKBO_WIDTH(width)                                                                                              \
    IKBO_KERNEL(concat_linear_bf16_##width, __nv_bfloat16, width, false)                                               \
    IKBO_KERNEL(concat_linear_bf16_##width##_resident, __nv_bfloat16, width, true)                                     \
    IKBO_KERNEL(concat_linear_fp16_##width, __half, width, false)                                                      \
    IKBO_KERNEL(concat_linear_fp16_##width##_resident, __half, width, true)                                            \
    IKBO_PARTS(concat_parts_bf16_##width, __nv_bfloat16, width)                                                        \
    IKBO_PARTS(concat_parts_fp16_##width, __half, width)

IKBO_WIDTH(64)
IKBO_WIDTH(128)
IKBO_WIDTH(192)
IKBO_WIDTH(256)
