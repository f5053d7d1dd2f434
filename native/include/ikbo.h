/* IKBO Lens native library, C ABI.
 *
 * Three operators whose replicated operand is read at its natural batch and mapped inside the operator:
 *   concat-linear      y[b, m]    = act( sum_i sum_k x_i[map_i(b), k] W[m, off_i + k] + bias[m] )
 *   linear compression y[b, m, n] = sum_k W[m, k] E_user[u(b), k, n] + sum_k W[m, Ku + k] E_cand[b, k, n]
 *   attention          y[b, q, h] = softmax(scale * Q[b, q, h] K[u(b), :, h']^T) V[u(b), :, h'],  h' = h / (H / Hkv)
 *
 * Use: open a device, create an operator from shapes (no pointers), prepare it (packs weights, plans the map, checks
 * indices; repeat when weights or maps change), run it (asynchronous on the given stream, allocates nothing, may be
 * captured into a CUDA graph), destroy it. On CUDA, prepare waits for the stream where it has indices to check, and
 * attention always. It may be captured too (ragged attention: the best stage only): then nothing waits, and a wrong index
 * traps when the graph runs.
 *
 * All pointers in ikbo_*_args are memory of the operator's device, and so is the stream; on CUDA, others are refused before anything
 * runs. Sizes count elements, strides count elements, and
 * every row's innermost stride is 1. All functions return IKBO_OK or an error whose text is ikbo_last_error() of the
 * calling thread: what is wrong, where, with the shapes, and the driver's own words.
 * Thread safety: operators are independent; one operator is used by one thread at a time.
 */
#ifndef IKBO_H
#define IKBO_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define IKBO_API __declspec(dllexport)
#else
#define IKBO_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define IKBO_ABI_VERSION 3

typedef enum ikbo_status {
    IKBO_OK = 0,
    IKBO_INVALID = 1,     /* shapes, strides or arguments contradict each other */
    IKBO_BAD_INDEX = 2,   /* a map names a row that its source does not have; found by prepare, never read */
    IKBO_UNSUPPORTED = 3, /* this device has no kernel for it; the text says what would */
    IKBO_NO_DEVICE = 4,   /* no driver or no such device */
    IKBO_OUT_OF_MEMORY = 5,
    IKBO_DRIVER = 6 /* the driver failed; its text is included */
} ikbo_status;

typedef enum ikbo_dtype { IKBO_FP32 = 0, IKBO_FP16 = 1, IKBO_BF16 = 2 } ikbo_dtype;
typedef enum ikbo_activation { IKBO_IDENTITY = 0, IKBO_RELU = 1, IKBO_GELU = 2, IKBO_SILU = 3 } ikbo_activation;

/* How a row of the output finds its row of a source: itself, row / repeats, index[row], row 0, or index[row] where negative entries
 * count from the end of the source, as in Python. */
typedef enum ikbo_map_kind {
    IKBO_MAP_NONE = 0,
    IKBO_MAP_REPEATS = 1,
    IKBO_MAP_INDEX = 2,
    IKBO_MAP_ALL = 3,
    IKBO_MAP_INDEX_FROM_END = 4
} ikbo_map_kind;

/* The stages from the code as users write it to the last one, each measurable on its own. IKBO_STAGE_BEST picks by shape: what was
 * measured for shapes of its class (kernels/tuned, and ikbo_tuned_file), else what follows from the sizes. A shape's `tile` is 0, or
 * asks stage 4 for another tile than that: concat-linear and linear compression at most so many columns of W's outputs for a block,
 * attention a cluster of 1 or 2 blocks, or (3) of 2 with a warp that stores, where that is built (heads of 128, dense keys). */
typedef enum ikbo_stage {
    IKBO_STAGE_MATERIALIZED = 0,       /* write the replica, then one product: the code as users write it */
    IKBO_STAGE_DECOMPOSED = 1,         /* two products and a gather-add */
    IKBO_STAGE_ALIGNED = 2,            /* the same with the weight repacked to aligned K */
    IKBO_STAGE_FUSED = 3,              /* the lookup in the epilogue of one kernel */
    IKBO_STAGE_WARP_SPECIALIZED = 4,   /* persistent, producer and consumer warpgroups */
    IKBO_STAGE_BEST = 100
} ikbo_stage;

typedef struct ikbo_device ikbo_device;
typedef struct ikbo_op ikbo_op;

typedef struct ikbo_device_info {
    char name[128];
    char detail[256];     /* CPU: threads and instruction set. CUDA: compute capability, driver version */
    int32_t ordinal;      /* -1 for the CPU, else the CUDA ordinal */
    int32_t capability;   /* CUDA: 10 * major + minor; CPU: 0 */
    int32_t units;        /* threads, or multiprocessors */
    int64_t memory_bytes;
    int64_t cache_bytes;  /* last-level cache, or L2 */
} ikbo_device_info;

IKBO_API int32_t ikbo_abi_version(void);
IKBO_API const char *ikbo_version(void);
/* Text of the calling thread's last error; empty when there was none. Valid until the thread's next call. */
IKBO_API const char *ikbo_last_error(void);

/* Number of CUDA devices. Without a driver: 0, and ikbo_last_error() says "no CUDA driver ...". Never fails. */
IKBO_API int32_t ikbo_cuda_device_count(void);
/* ordinal -1 is the CPU. */
IKBO_API ikbo_status ikbo_device_open(int32_t ordinal, ikbo_device **out);
IKBO_API ikbo_status ikbo_device_describe(const ikbo_device *device, ikbo_device_info *out);
/* The CUDA device's place on the bus, "0000:9b:00.0", by which nvidia-smi and others know it however devices are numbered; "" for
 * the CPU. */
IKBO_API const char *ikbo_device_bus_id(const ikbo_device *device);
IKBO_API void ikbo_device_close(ikbo_device *device);

/* Device memory and events for callers without a runtime of their own (the benchmark host). On the CPU a stream is
 * NULL and every call is synchronous. */
IKBO_API ikbo_status ikbo_alloc(ikbo_device *device, size_t bytes, void **out);
IKBO_API void ikbo_free(ikbo_device *device, void *memory);
IKBO_API ikbo_status ikbo_upload(ikbo_device *device, void *to, const void *from_host, size_t bytes);
IKBO_API ikbo_status ikbo_download(ikbo_device *device, void *to_host, const void *from, size_t bytes);
IKBO_API ikbo_status ikbo_fill(ikbo_device *device, void *memory, uint8_t byte, size_t bytes, void *stream);
/* Device to device. */
IKBO_API ikbo_status ikbo_copy(ikbo_device *device, void *to, const void *from, size_t bytes, void *stream);
IKBO_API ikbo_status ikbo_stream_create(ikbo_device *device, void **out);
IKBO_API void ikbo_stream_destroy(ikbo_device *device, void *stream);
IKBO_API ikbo_status ikbo_synchronize(ikbo_device *device, void *stream);

/* Timing. `issue` puts the work of one iteration on the stream and must not synchronize. CUDA: the iterations become one
 * graph and are timed with events; CPU: they are called and timed with a steady clock. Each iteration is preceded by
 * writing flush_bytes of scratch memory (0: none), which is not part of the time. `issue` and its context must outlive
 * the recording. Replay waits for the device and gives the mean time of one iteration; replay_each gives that of each iteration, in
 * order, `milliseconds` having room for all of them (without a flush they are timed as a whole on CUDA: the mean, for each). */
typedef struct ikbo_recording ikbo_recording;
typedef ikbo_status (*ikbo_issue)(void *context, int32_t iteration, void *stream);
IKBO_API ikbo_status ikbo_record(ikbo_device *device, ikbo_issue issue, void *context, int32_t iterations,
                                 size_t flush_bytes, ikbo_recording **out);
IKBO_API ikbo_status ikbo_replay(ikbo_recording *recording, double *milliseconds);
IKBO_API ikbo_status ikbo_replay_each(ikbo_recording *recording, double *milliseconds);
IKBO_API void ikbo_recording_destroy(ikbo_recording *recording);

typedef struct ikbo_map {
    int32_t kind;         /* ikbo_map_kind */
    int32_t index_bits;   /* of an index: 32 or 64 */
    int64_t repeats;      /* IKBO_MAP_REPEATS: output rows per source row, >= 1 */
    const void *index;    /* [rows]; given with the args, not with the shape */
} ikbo_map;

#define IKBO_MAX_BLOCKS 64

typedef struct ikbo_concat_linear_shape {
    int32_t dtype, activation, stage, blocks;
    int32_t has_bias, tile;
    int64_t rows, outputs;
    struct {
        int64_t source_rows, width, row_stride;
        int32_t map_kind, index_bits;
        int64_t repeats;
    } block[IKBO_MAX_BLOCKS];
    int64_t weight_stride; /* of W [outputs, sum of widths] */
    int64_t out_stride;    /* of y [rows, outputs] */
} ikbo_concat_linear_shape;

typedef struct ikbo_concat_linear_args {
    const void *x[IKBO_MAX_BLOCKS];
    const void *index[IKBO_MAX_BLOCKS]; /* [rows] where the block's map is an index, else NULL */
    const void *weight, *bias;          /* bias [outputs] in dtype, or NULL */
    void *out;
} ikbo_concat_linear_args;

typedef struct ikbo_linear_compression_shape {
    int32_t dtype, stage, map_kind, index_bits;
    int64_t repeats;
    int64_t batch, users, outputs, columns;  /* B, U, M, N */
    int64_t user_width, candidate_width;     /* Ku, Kc; W is [M, Ku + Kc], user columns first */
    int64_t weight_stride;                   /* elements between rows of W */
    int32_t candidate_first, tile;           /* candidate_first 1: candidate columns come first in W */
} ikbo_linear_compression_shape;

typedef struct ikbo_linear_compression_args {
    const void *user;      /* [U, Ku, N] contiguous */
    const void *candidate; /* [B, Kc, N] contiguous */
    const void *index;     /* [B] or NULL */
    const void *weight;
    void *out;             /* [B, M, N] contiguous */
} ikbo_linear_compression_args;

typedef struct ikbo_attention_shape {
    int32_t dtype, stage, map_kind, index_bits;
    int64_t repeats;
    int64_t batch, users, queries;        /* B candidates, U users, Q query rows per candidate */
    int64_t heads, key_heads, head_width; /* H, Hkv (divides H), D */
    int64_t keys;                         /* S when dense; the longest user when ragged */
    int64_t total_keys;                   /* ragged: rows of K and V over all users; dense: 0 */
    int32_t ragged, want_lse;
    float scale;                          /* multiplies the scores; usually 1/sqrt(D) */
    int32_t tile;
} ikbo_attention_shape;

typedef struct ikbo_attention_args {
    const void *q;               /* [B, Q, H, D] contiguous */
    const void *k, *v;           /* dense [U, S, Hkv, D]; ragged [total_keys, Hkv, D] */
    const int32_t *key_offsets;  /* ragged: [U + 1], ascending, first 0, last total_keys */
    const void *index;           /* [B] or NULL */
    void *out;                   /* [B, Q, H, D]; a user without keys gives zeros */
    float *lse;                  /* [B, H, Q] natural log-sum-exp, or NULL */
} ikbo_attention_args;

IKBO_API ikbo_status ikbo_concat_linear_create(ikbo_device *device, const ikbo_concat_linear_shape *shape, ikbo_op **out);
IKBO_API ikbo_status ikbo_concat_linear_prepare(ikbo_op *op, const ikbo_concat_linear_args *args, void *stream);
IKBO_API ikbo_status ikbo_concat_linear_run(ikbo_op *op, const ikbo_concat_linear_args *args, void *stream);

IKBO_API ikbo_status ikbo_linear_compression_create(ikbo_device *device, const ikbo_linear_compression_shape *shape, ikbo_op **out);
IKBO_API ikbo_status ikbo_linear_compression_prepare(ikbo_op *op, const ikbo_linear_compression_args *args, void *stream);
IKBO_API ikbo_status ikbo_linear_compression_run(ikbo_op *op, const ikbo_linear_compression_args *args, void *stream);

IKBO_API ikbo_status ikbo_attention_create(ikbo_device *device, const ikbo_attention_shape *shape, ikbo_op **out);
IKBO_API ikbo_status ikbo_attention_prepare(ikbo_op *op, const ikbo_attention_args *args, void *stream);
IKBO_API ikbo_status ikbo_attention_run(ikbo_op *op, const ikbo_attention_args *args, void *stream);

/* Bytes of workspace that the operator owns, and the kernel that it chose ("lce_v4b_224x128", "cpu avx2 fp32"). */
IKBO_API size_t ikbo_op_workspace_bytes(const ikbo_op *op);
IKBO_API const char *ikbo_op_kernel(const ikbo_op *op);
/* The class of its shape among those that were measured: "linear-compression bf16 10 4 9 8 10 10". */
IKBO_API const char *ikbo_op_class(const ikbo_op *op);
IKBO_API void ikbo_op_destroy(ikbo_op *op);

/* The file of choices measured on this machine, read once by each process: a line is `CLASS = STAGE TILE`. "" where there can be
 * none. */
IKBO_API const char *ikbo_tuned_file(const ikbo_device *device);

#ifdef __cplusplus
}
#endif
#endif
