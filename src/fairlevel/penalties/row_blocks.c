/* Sums over functions of A and sums over rows, for a few predictions at a time, in float32.

   Functions are packed in blocks of BLOCK rows: a block holds its rows of the first function, then those of the second,
   and so on; rows beyond the last are zeros. Functions are floats or, where there are `scales`, bytes: a value is its
   byte less ZERO, times the scale of its block and function. Word j of a block holds the rows j, j + WORDS, and so on.

   Work is divided by rows alone and sums over rows are added in a fixed order: a result depends neither on the number
   of threads nor on how many predictions are computed together. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 128  /* rows; a multiple of VECTORS * LANES */
#define WORDS (BLOCK / 4)
#define ZERO 128
#define CHUNK 32   /* functions of a block that stay in the first-level cache for all predictions */
#define PANEL 16   /* blocks of one unit of work */

#ifdef __AVX512F__
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif
#define VECTORS 8  /* sums side by side */
#define STRIP (VECTORS * LANES)  /* rows of a block that are added up together */

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* VECTORS vectors of one function at a strip of rows; bytes become floats by way of the last bits of 2^23. */
static inline __attribute__((always_inline)) void read_strip(int bytes, const void *function, int64_t strip, vec *values)
{
    if (!bytes) {
        for (int v = 0; v < VECTORS; v++) values[v] = *(const vec *)((const float *)function + strip + v * LANES);
        return;
    }
    for (int side = 0; side < VECTORS / 4; side++) {
        words four = *(const words *)((const uint32_t *)function + strip / 4 + side * LANES);
        for (int byte = 0; byte < 4; byte++)
            values[side * 4 + byte] = (vec)((four >> (8 * byte) & 255u) | 0x4B000000u) - (8388608.0f + ZERO);
    }
}

/* The first row of vector v of a strip. */
static inline __attribute__((always_inline)) int64_t row_of(int bytes, int64_t strip, int v)
{
    return bytes ? v % 4 * WORDS + strip / 4 + v / 4 * LANES : strip + v * LANES;
}

static inline const void *function_at(int bytes, const void *packed, int64_t number)
{
    return (const char *)packed + number * BLOCK * (bytes ? 1 : 4);
}

/* out[c][i] = w[i] * sum_k c[c][k] B[i][k] */
static inline __attribute__((always_inline)) void combine(
    int bytes, const void *packed, const float *scales, int64_t rows, int64_t count, int64_t configs, const float *coefficients,
    const float *weight, float *out, int threads)
{
    int64_t blocks = (rows + BLOCK - 1) / BLOCK;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t block = 0; block < blocks; block++) {
        int64_t first = block * BLOCK, real = least(BLOCK, rows - first);
        float sums[configs][BLOCK];
        memset(sums, 0, sizeof sums);
        for (int64_t chunk = 0; chunk < count; chunk += CHUNK) {
            int64_t end = least(count, chunk + CHUNK);
            for (int64_t c = 0; c < configs; c++)
                for (int64_t strip = 0; strip < BLOCK; strip += STRIP) {
                    vec sum[VECTORS], values[VECTORS];
                    for (int v = 0; v < VECTORS; v++) sum[v] = *(vec *)(sums[c] + row_of(bytes, strip, v));
                    for (int64_t k = chunk; k < end; k++) {
                        float factor = coefficients[c * count + k] * (bytes ? scales[block * count + k] : 1);
                        read_strip(bytes, function_at(bytes, packed, block * count + k), strip, values);
                        for (int v = 0; v < VECTORS; v++) sum[v] += values[v] * factor;
                    }
                    for (int v = 0; v < VECTORS; v++) *(vec *)(sums[c] + row_of(bytes, strip, v)) = sum[v];
                }
        }
        for (int64_t c = 0; c < configs; c++)
            for (int64_t i = 0; i < real; i++) out[c * rows + first + i] = weight[first + i] * sums[c][i];
    }
}

/* One panel's sums over its rows of B[i][k] w[i] f[c][i]: partial[c][k]. `room` holds configs * count vectors. */
static inline __attribute__((always_inline)) void panel_sums(
    int bytes, const void *packed, const float *scales, int64_t rows, int64_t count, int64_t configs, const float *prediction,
    const float *weight, int64_t panel, vec *room, float *partial)
{
    memset(room, 0, configs * count * sizeof(vec));
    int64_t last = least((panel + 1) * PANEL, (rows + BLOCK - 1) / BLOCK);
    for (int64_t block = panel * PANEL; block < last; block++) {
        int64_t first = block * BLOCK, real = least(BLOCK, rows - first);
        float weighted[configs][BLOCK];
        memset(weighted, 0, sizeof weighted);
        for (int64_t c = 0; c < configs; c++)
            for (int64_t i = 0; i < real; i++) weighted[c][i] = weight[first + i] * prediction[c * rows + first + i];
        for (int64_t chunk = 0; chunk < count; chunk += CHUNK) {
            int64_t end = least(count, chunk + CHUNK);
            for (int64_t c = 0; c < configs; c++)
                for (int64_t strip = 0; strip < BLOCK; strip += STRIP) {
                    vec factors[VECTORS], values[VECTORS];
                    for (int v = 0; v < VECTORS; v++) factors[v] = *(vec *)(weighted[c] + row_of(bytes, strip, v));
                    for (int64_t k = chunk; k < end; k++) {
                        read_strip(bytes, function_at(bytes, packed, block * count + k), strip, values);
                        vec even = values[0] * factors[0], odd = values[1] * factors[1];
                        for (int v = 2; v < VECTORS; v += 2) {
                            even += values[v] * factors[v];
                            odd += values[v + 1] * factors[v + 1];
                        }
                        room[c * count + k] += (even + odd) * (bytes ? scales[block * count + k] : 1);
                    }
                }
        }
    }
    for (int64_t j = 0; j < configs * count; j++) {
        float sum = 0;
        for (int lane = 0; lane < LANES; lane++) sum += room[j][lane];
        partial[j] = sum;
    }
}

/* out[c][k] = sum_i B[i][k] w[i] f[c][i] */
static inline __attribute__((always_inline)) void add_rows(
    int bytes, const void *packed, const float *scales, int64_t rows, int64_t count, int64_t configs, const float *prediction,
    const float *weight, float *partial, float *out, int threads)
{
    int64_t panels = ((rows + BLOCK - 1) / BLOCK + PANEL - 1) / PANEL, size = configs * count;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        vec *room = malloc(size * sizeof(vec));
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < panels; panel++)
            panel_sums(bytes, packed, scales, rows, count, configs, prediction, weight, panel, room, partial + panel * size);
        free(room);
    }
    for (int64_t j = 0; j < size; j++) {
        double sum = 0;
        for (int64_t panel = 0; panel < panels; panel++) sum += partial[panel * size + j];
        out[j] = (float)sum;
    }
}

int64_t rows_per_block(void) { return BLOCK; }

int64_t rows_per_panel(void) { return BLOCK * PANEL; }

/* Blocks of functions at [i * row + k * function]; bytes where there are scales, which are the largest absolute values
   divided by 127. */
void pack(
    const float *functions, int64_t row, int64_t function, int64_t rows, int64_t count, void *packed, float *scales,
    int threads)
{
    int64_t blocks = (rows + BLOCK - 1) / BLOCK;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t block = 0; block < blocks; block++) {
        int64_t first = block * BLOCK, real = least(BLOCK, rows - first);
        for (int64_t k = 0; k < count; k++) {
            float values[BLOCK] = {0}, largest = 0;
            const float *from = functions + first * row + k * function;
            for (int64_t i = 0; i < real; i++) values[i] = from[i * row];
            if (!scales) {
                memcpy((float *)packed + (block * count + k) * BLOCK, values, sizeof values);
                continue;
            }
            for (int i = 0; i < BLOCK; i++) largest = fmaxf(largest, fabsf(values[i]));
            float inverse = largest > 0 ? 127 / largest : 0;
            uint8_t *bytes = (uint8_t *)packed + (block * count + k) * BLOCK;
            for (int part = 0; part < 4; part++)
                for (int j = 0; j < WORDS; j++)
                    bytes[4 * j + part] = (uint8_t)(values[part * WORDS + j] * inverse + (ZERO + .5f));
            scales[block * count + k] = largest / 127;
        }
    }
}

void combined(
    const void *packed, const float *scales, int64_t rows, int64_t count, int64_t configs, const float *coefficients,
    const float *weight, float *out, int threads)
{
    if (scales) combine(1, packed, scales, rows, count, configs, coefficients, weight, out, threads);
    else combine(0, packed, scales, rows, count, configs, coefficients, weight, out, threads);
}

void row_sums(
    const void *packed, const float *scales, int64_t rows, int64_t count, int64_t configs, const float *prediction,
    const float *weight, float *partial, float *out, int threads)
{
    if (scales) add_rows(1, packed, scales, rows, count, configs, prediction, weight, partial, out, threads);
    else add_rows(0, packed, scales, rows, count, configs, prediction, weight, partial, out, threads);
}
