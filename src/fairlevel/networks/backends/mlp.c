/* Stacks of tanh networks with two hidden layers of WIDTH units and one output, in float32.

   Rows are read in blocks that fit the first-level cache; a block goes forward and back before the next one is read.
   Work is divided into (configuration, panel of rows) pairs whose number depends on the data alone, and their
   gradients are added in a fixed order: a result depends neither on the number of threads nor on other configurations.

   A row of parameters holds W1 (inputs, WIDTH), b1, W2 (WIDTH, WIDTH), b2, w3, b3 at the offsets of `Shape`. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __aarch64__
#include <arm_neon.h>
#endif

#define WIDTH 64
#define BLOCK 48   /* rows that go forward and back together; a multiple of TALL */
#define PANEL 768  /* rows of one unit of work; a multiple of BLOCK */

#ifdef __AVX512F__
#define LANES 16
#define TALL 6     /* rows of a tile of products: 6 x 4 vectors of sums fit the registers */
#elif defined(__aarch64__)
#define LANES 4    /* wider vectors would be taken apart on the stack */
#define TALL 6
#define TALLER 8   /* rows of a tile whose factors come from lanes: 8 x 2 sums, 8 vectors of factors */
#else
#define LANES 8
#define TALL 3
#endif
#define VECTORS 4  /* vectors side by side in a tile of products */

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t ivec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

typedef struct {
    int64_t inputs, outputs, stride, w1, b1, w2, b2, w3, b3;
} Shape;

static inline vec load(const float *at) { return *(const vec *)at; }
static inline void store(float *at, vec value) { *(vec *)at = value; }
static inline vec all(float value) { return value - (vec){0}; }
static inline vec pick(ivec mask, vec yes, vec no) { return (vec)((mask & (ivec)yes) | (~mask & (ivec)no)); }

/* C[i][0:WIDTH] = (start, or the old value) + sum_k A[i * ai + k * ak] * B[k][0:WIDTH] for `tall` rows i. */
static inline __attribute__((always_inline)) void products_of(
    int tall, const float *A, int64_t ai, int64_t ak, const float *B, int64_t depth, const float *start, float *C)
{
    for (int side = 0; side < WIDTH; side += VECTORS * LANES) {
        vec sum[TALL][VECTORS];
        for (int i = 0; i < tall; i++)
            for (int v = 0; v < VECTORS; v++)
                sum[i][v] = load((start ? start : C + i * WIDTH) + side + v * LANES);
        for (int64_t k = 0; k < depth; k++) {
            vec row[VECTORS];
            for (int v = 0; v < VECTORS; v++) row[v] = load(B + k * WIDTH + side + v * LANES);
            for (int i = 0; i < tall; i++) {
                vec factor = all(A[i * ai + k * ak]);
                for (int v = 0; v < VECTORS; v++) sum[i][v] += factor * row[v];
            }
        }
        for (int i = 0; i < tall; i++)
            for (int v = 0; v < VECTORS; v++) store(C + i * WIDTH + side + v * LANES, sum[i][v]);
    }
}

#ifdef __aarch64__
/* The same for LANES rows of a transposed A (ai = 1). One load brings a factor for each row, and products take it from
   its lane of the register. */
static inline __attribute__((always_inline)) void products_of_columns(
    const float *A, int64_t ak, const float *B, int64_t depth, const float *start, float *C)
{
    for (int side = 0; side < WIDTH; side += VECTORS * LANES) {
        vec sum[LANES][VECTORS];
        for (int i = 0; i < LANES; i++)
            for (int v = 0; v < VECTORS; v++)
                sum[i][v] = load((start ? start : C + i * WIDTH) + side + v * LANES);
        for (int64_t k = 0; k < depth; k++) {
            vec factors = load(A + k * ak), row[VECTORS];
            for (int v = 0; v < VECTORS; v++) row[v] = load(B + k * WIDTH + side + v * LANES);
            for (int i = 0; i < LANES; i++)
                for (int v = 0; v < VECTORS; v++) sum[i][v] += factors[i] * row[v];
        }
        for (int i = 0; i < LANES; i++)
            for (int v = 0; v < VECTORS; v++) store(C + i * WIDTH + side + v * LANES, sum[i][v]);
    }
}

/* The same for TALLER rows whose factors stand side by side (ak = 1), LANES of them at a time. */
static inline __attribute__((always_inline)) void products_of_rows(
    const float *A, int64_t ai, const float *B, int64_t depth, const float *start, float *C)
{
    for (int side = 0; side < WIDTH; side += 2 * LANES) {
        vec sum[TALLER][2];
        for (int i = 0; i < TALLER; i++)
            for (int v = 0; v < 2; v++) sum[i][v] = load((start ? start : C + i * WIDTH) + side + v * LANES);
        for (int64_t k = 0; k < depth; k += LANES) {
            vec factors[TALLER];
            for (int i = 0; i < TALLER; i++) factors[i] = load(A + i * ai + k);
            #pragma GCC unroll 4
            for (int j = 0; j < LANES; j++) {
                vec row[2];
                for (int v = 0; v < 2; v++) row[v] = load(B + (k + j) * WIDTH + side + v * LANES);
                for (int i = 0; i < TALLER; i++)
                    for (int v = 0; v < 2; v++) sum[i][v] += factors[i][j] * row[v];
            }
        }
        for (int i = 0; i < TALLER; i++)
            for (int v = 0; v < 2; v++) store(C + i * WIDTH + side + v * LANES, sum[i][v]);
    }
}
#endif

static void products(
    int64_t rows, const float *A, int64_t ai, int64_t ak, const float *B, int64_t depth, const float *start, float *C)
{
    int64_t i = 0;
#ifdef __aarch64__
    if (ai == 1)
        for (; i + LANES <= rows; i += LANES) products_of_columns(A + i, ak, B, depth, start, C + i * WIDTH);
    else if (ak == 1 && depth % LANES == 0)
        for (; i + TALLER <= rows; i += TALLER) products_of_rows(A + i * ai, ai, B, depth, start, C + i * WIDTH);
#endif
    for (; i + TALL <= rows; i += TALL) products_of(TALL, A + i * ai, ai, ak, B, depth, start, C + i * WIDTH);
    for (; i < rows; i++) products_of(1, A + i * ai, ai, ak, B, depth, start, C + i * WIDTH);
}

/* Within -limit and limit; a NaN stays. */
static inline vec clamped(vec x, float limit)
{
#ifdef __aarch64__
    return (vec)vmaxq_f32(vminq_f32((float32x4_t)x, vdupq_n_f32(limit)), vdupq_n_f32(-limit));
#else
    x = pick(x > limit, all(limit), x);
    return pick(x < -limit, all(-limit), x);
#endif
}

/* tanh x = e / (e + 2) with e = exp(2x) - 1 = 2^n (2^r - 1) + (2^n - 1); exact to a few units in the last place. */
static inline vec tanh_of(vec x)
{
    const float magic = 12582912.0f;                /* 1.5 * 2^23: adding it rounds to whole numbers */
    vec turns = clamped(x, 9.1f) * 2.885390081777927f;  /* 2 / ln 2 */
    vec rounded = turns + magic;                    /* whose last bits are the whole number n */
    vec rest = (turns - (rounded - magic)) * 0.6931471805599453f;
    vec tail = all(1.0f / 5040);
    tail = tail * rest + 1.0f / 720;
    tail = tail * rest + 1.0f / 120;
    tail = tail * rest + 1.0f / 24;
    tail = tail * rest + 1.0f / 6;
    tail = tail * rest + 0.5f;
    tail = tail * rest * rest + rest;               /* exp(rest) - 1 */
    vec power = (vec)(((ivec)rounded << 23) + (127 << 23));  /* 2^n */
    vec e = power * tail + (power - 1.0f);
    return e / (e + 2.0f);
}

/* Of `count` values, a multiple of WIDTH. Four vectors at a time: each waits for its own chain of operations. */
static void tanh_all(float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i += 4 * LANES) {
        vec x[4];
        for (int v = 0; v < 4; v++) x[v] = load(values + i + v * LANES);
        for (int v = 0; v < 4; v++) x[v] = tanh_of(x[v]);
        for (int v = 0; v < 4; v++) store(values + i + v * LANES, x[v]);
    }
}

/* One block forward: z1, z2 (rows, WIDTH) and f (rows). */
static void forward_block(
    const Shape *s, const float *P, const float *x, int64_t rows, float *z1, float *z2, float *f)
{
    products(rows, x, s->inputs, 1, P + s->w1, s->inputs, P + s->b1, z1);
    tanh_all(z1, rows * WIDTH);
    products(rows, z1, WIDTH, 1, P + s->w2, WIDTH, P + s->b2, z2);
    tanh_all(z2, rows * WIDTH);
    const float *w3 = P + s->w3;
    for (int64_t i = 0; i < rows; i++) {
        vec sum = all(0);
        for (int v = 0; v < WIDTH; v += LANES) sum += load(z2 + i * WIDTH + v) * load(w3 + v);
        float total = P[s->b3];
        for (int lane = 0; lane < LANES; lane++) total += sum[lane];
        f[i] = total;
    }
}

static inline void add_rows(const float *values, int64_t rows, float *sums)
{
    for (int side = 0; side < WIDTH; side += VECTORS * LANES) {
        vec sum[VECTORS];
        for (int v = 0; v < VECTORS; v++) sum[v] = load(sums + side + v * LANES);
        for (int64_t i = 0; i < rows; i++)
            for (int v = 0; v < VECTORS; v++) sum[v] += load(values + i * WIDTH + side + v * LANES);
        for (int v = 0; v < VECTORS; v++) store(sums + side + v * LANES, sum[v]);
    }
}

/* One block back: adds sum_i g_i df_i/dP to G. `transposed` is W2 transposed; d1, d2 are (rows, WIDTH) buffers. */
static void backward_block(
    const Shape *s, const float *P, const float *transposed, const float *x, const float *z1, const float *z2,
    const float *g, int64_t rows, float *d1, float *d2, float *G)
{
    for (int64_t i = 0; i < rows; i++) G[s->b3] += g[i];
    for (int side = 0; side < WIDTH; side += VECTORS * LANES) {
        vec w3[VECTORS], sum[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            w3[v] = load(P + s->w3 + side + v * LANES);
            sum[v] = load(G + s->w3 + side + v * LANES);
        }
        for (int64_t i = 0; i < rows; i++)
            for (int v = 0; v < VECTORS; v++) {
                vec z = load(z2 + i * WIDTH + side + v * LANES);
                sum[v] += g[i] * z;
                store(d2 + i * WIDTH + side + v * LANES, g[i] * w3[v] * (1.0f - z * z));
            }
        for (int v = 0; v < VECTORS; v++) store(G + s->w3 + side + v * LANES, sum[v]);
    }
    products(WIDTH, z1, 1, WIDTH, d2, rows, NULL, G + s->w2);
    add_rows(d2, rows, G + s->b2);
    static const float zero[WIDTH];
    products(rows, d2, WIDTH, 1, transposed, WIDTH, zero, d1);
    for (int64_t i = 0; i < rows * WIDTH; i += LANES) {
        vec z = load(z1 + i);
        store(d1 + i, load(d1 + i) * (1.0f - z * z));
    }
    products(s->inputs, x, 1, s->inputs, d1, rows, NULL, G + s->w1);
    add_rows(d1, rows, G + s->b1);
}

static void transpose(const float *W, float *transposed)
{
    for (int i = 0; i < WIDTH; i++)
        for (int j = 0; j < WIDTH; j++) transposed[j * WIDTH + i] = W[i * WIDTH + j];
}

static int64_t panels_of(int64_t rows) { return (rows + PANEL - 1) / PANEL; }
int64_t mlp_panels(int64_t rows) { return panels_of(rows); }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* f (config, rows) and, where z1 is given, the activations (config, rows, WIDTH). */
void mlp_forward(
    const Shape *s, int64_t configs, int64_t rows, const float *P, const float *x, float *z1, float *z2, float *f,
    int threads)
{
    int64_t panels = panels_of(rows);
    #pragma omp parallel for schedule(static) num_threads(threads) if (configs * panels > 1)
    for (int64_t unit = 0; unit < configs * panels; unit++) {
        int64_t c = unit / panels, first = unit % panels * PANEL, end = least(rows, first + PANEL);
        float buffer[2][BLOCK * WIDTH] __attribute__((aligned(64)));
        for (int64_t i = first; i < end; i += BLOCK) {
            int64_t count = least(BLOCK, end - i), at = (c * rows + i) * WIDTH;
            forward_block(s, P + c * s->stride, x + i * s->inputs, count, z1 ? z1 + at : buffer[0],
                          z2 ? z2 + at : buffer[1], f + c * rows + i);
        }
    }
}

static void add_panels(const Shape *s, int64_t configs, int64_t panels, const float *parts, float *G, int threads)
{
    #pragma omp parallel for schedule(static) num_threads(threads) if (configs > 1)
    for (int64_t c = 0; c < configs; c++)
        for (int64_t p = 0; p < panels; p++)
            for (int64_t j = 0; j < s->stride; j++) G[c * s->stride + j] += parts[(c * panels + p) * s->stride + j];
}

/* G (config, stride) = sum_i g_i df_i/dP from the activations or, where z1 is not given, from activations computed
   again; `parts` is a buffer of shape (config, panels, stride). */
void mlp_pullback(
    const Shape *s, int64_t configs, int64_t rows, const float *P, const float *x, const float *z1, const float *z2,
    const float *g, float *parts, float *G, int threads)
{
    int64_t panels = panels_of(rows);
    memset(parts, 0, sizeof(float) * configs * panels * s->stride);
    memset(G, 0, sizeof(float) * configs * s->stride);
    #pragma omp parallel for schedule(static) num_threads(threads) if (configs * panels > 1)
    for (int64_t unit = 0; unit < configs * panels; unit++) {
        int64_t c = unit / panels, first = unit % panels * PANEL, end = least(rows, first + PANEL);
        float buffer[5][WIDTH * WIDTH] __attribute__((aligned(64))), f[BLOCK];
        const float *own = P + c * s->stride;
        transpose(own + s->w2, buffer[4]);
        for (int64_t i = first; i < end; i += BLOCK) {
            int64_t at = (c * rows + i) * WIDTH, count = least(BLOCK, end - i);
            const float *below = z1 ? z1 + at : buffer[0], *above = z1 ? z2 + at : buffer[1];
            if (!z1) forward_block(s, own, x + i * s->inputs, count, buffer[0], buffer[1], f);
            backward_block(s, own, buffer[4], x + i * s->inputs, below, above, g + c * rows + i, count, buffer[2],
                           buffer[3], parts + unit * s->stride);
        }
    }
    add_panels(s, configs, panels, parts, G, threads);
}

/* `steps` steps P -= rate * d/dP sum_i w_i (h_i - f_i)^2 in place; f (config, rows), w (rows), rate (config). */
void mlp_descend(
    const Shape *s, int64_t configs, int64_t rows, float *P, const float *x, const float *f, const float *w,
    const float *rate, int64_t steps, float *parts, int threads)
{
    int64_t panels = panels_of(rows);
    for (int64_t step = 0; step < steps; step++) {
        #pragma omp parallel for schedule(static) num_threads(threads) if (configs * panels > 1)
        for (int64_t unit = 0; unit < configs * panels; unit++) {
            int64_t c = unit / panels, first = unit % panels * PANEL, end = least(rows, first + PANEL);
            float buffer[5][WIDTH * WIDTH] __attribute__((aligned(64))), g[BLOCK];
            const float *own = P + c * s->stride;
            float *G = parts + unit * s->stride;
            memset(G, 0, sizeof(float) * s->stride);
            transpose(own + s->w2, buffer[4]);
            for (int64_t i = first; i < end; i += BLOCK) {
                int64_t count = least(BLOCK, end - i);
                forward_block(s, own, x + i * s->inputs, count, buffer[0], buffer[1], g);
                for (int64_t j = 0; j < count; j++) g[j] = 2.0f * w[i + j] * (g[j] - f[c * rows + i + j]);
                backward_block(s, own, buffer[4], x + i * s->inputs, buffer[0], buffer[1], g, count, buffer[2],
                               buffer[3], G);
            }
        }
        #pragma omp parallel for schedule(static) num_threads(threads) if (configs > 1)
        for (int64_t c = 0; c < configs; c++)
            for (int64_t p = 0; p < panels; p++)
                for (int64_t j = 0; j < s->stride; j++)
                    P[c * s->stride + j] -= rate[c] * parts[(c * panels + p) * s->stride + j];
    }
}

/* One block of the second derivative along V: adds d/dt of the gradient of sum_i w_i (h_i - f_i)^2 at P + t V to H and
   writes the directional derivatives of h to `along`. `transposed` and `transposed_v` are W2 and V2 transposed;
   `buffer` holds eight (BLOCK, WIDTH) pieces. The letter r before a name means: its derivative along V. */
static void second_block(
    const Shape *s, const float *P, const float *V, const float *transposed, const float *transposed_v, const float *x,
    const float *f, const float *w, int64_t rows, float (*buffer)[BLOCK * WIDTH], float *along, float *H)
{
    static const float zero[WIDTH];
    float *z1 = buffer[0], *z2 = buffer[1], *r1 = buffer[2], *r2 = buffer[3], *d2 = buffer[4], *rd2 = buffer[5];
    float *d1 = buffer[6], *rd1 = buffer[7], h[BLOCK];
    forward_block(s, P, x, rows, z1, z2, h);
    products(rows, x, s->inputs, 1, V + s->w1, s->inputs, V + s->b1, r1);
    for (int64_t i = 0; i < rows * WIDTH; i += LANES) {
        vec z = load(z1 + i);
        store(r1 + i, load(r1 + i) * (1.0f - z * z));
    }
    products(rows, z1, WIDTH, 1, V + s->w2, WIDTH, V + s->b2, r2);
    products(rows, r1, WIDTH, 1, P + s->w2, WIDTH, NULL, r2);
    const float *w3 = P + s->w3, *v3 = V + s->w3;
    for (int64_t i = 0; i < rows; i++) {
        vec sum = all(0);
        for (int v = 0; v < WIDTH; v += LANES) {
            vec z = load(z2 + i * WIDTH + v), r = load(r2 + i * WIDTH + v) * (1.0f - z * z);
            store(r2 + i * WIDTH + v, r);
            sum += r * load(w3 + v) + z * load(v3 + v);
        }
        float total = V[s->b3];
        for (int lane = 0; lane < LANES; lane++) total += sum[lane];
        along[i] = total;
        float g = 2.0f * w[i] * (h[i] - f[i]), rg = 2.0f * w[i] * total;
        H[s->b3] += rg;
        for (int v = 0; v < WIDTH; v += LANES) {
            vec z = load(z2 + i * WIDTH + v), r = load(r2 + i * WIDTH + v), slope = 1.0f - z * z;
            store(H + s->w3 + v, load(H + s->w3 + v) + g * r + rg * z);
            store(d2 + i * WIDTH + v, g * load(w3 + v) * slope);
            store(rd2 + i * WIDTH + v, (rg * load(w3 + v) + g * load(v3 + v)) * slope - 2.0f * g * load(w3 + v) * z * r);
        }
    }
    products(WIDTH, r1, 1, WIDTH, d2, rows, NULL, H + s->w2);
    products(WIDTH, z1, 1, WIDTH, rd2, rows, NULL, H + s->w2);
    add_rows(rd2, rows, H + s->b2);
    products(rows, d2, WIDTH, 1, transposed, WIDTH, zero, d1);
    products(rows, d2, WIDTH, 1, transposed_v, WIDTH, zero, rd1);
    products(rows, rd2, WIDTH, 1, transposed, WIDTH, NULL, rd1);
    for (int64_t i = 0; i < rows * WIDTH; i += LANES) {
        vec z = load(z1 + i);
        store(rd1 + i, load(rd1 + i) * (1.0f - z * z) - 2.0f * load(d1 + i) * z * load(r1 + i));
    }
    products(s->inputs, x, 1, s->inputs, rd1, rows, NULL, H + s->w1);
    add_rows(rd1, rows, H + s->b1);
}

/* H (config, stride): the second derivative of sum_i w_i (h_i - f_i)^2 times V (config, stride), and `along`
   (config, rows): the derivatives of h along V. */
void mlp_second(
    const Shape *s, int64_t configs, int64_t rows, const float *P, const float *V, const float *x, const float *f,
    const float *w, float *along, float *parts, float *H, int threads)
{
    int64_t panels = panels_of(rows);
    memset(parts, 0, sizeof(float) * configs * panels * s->stride);
    memset(H, 0, sizeof(float) * configs * s->stride);
    #pragma omp parallel for schedule(static) num_threads(threads) if (configs * panels > 1)
    for (int64_t unit = 0; unit < configs * panels; unit++) {
        int64_t c = unit / panels, first = unit % panels * PANEL, end = least(rows, first + PANEL);
        float buffer[8][BLOCK * WIDTH] __attribute__((aligned(64)));
        float transposed[2][WIDTH * WIDTH] __attribute__((aligned(64)));
        const float *own = P + c * s->stride, *direction = V + c * s->stride;
        transpose(own + s->w2, transposed[0]);
        transpose(direction + s->w2, transposed[1]);
        for (int64_t i = first; i < end; i += BLOCK)
            second_block(s, own, direction, transposed[0], transposed[1], x + i * s->inputs, f + c * rows + i, w + i,
                         least(BLOCK, end - i), buffer, along + c * rows + i, parts + unit * s->stride);
    }
    add_panels(s, configs, panels, parts, H, threads);
}

/* One block of a critic with one input and s->outputs outputs: returns its loss, adds the gradient in the parameters
   to G and writes the gradient in u to `input_gradient`. `last` and `last_transposed` hold W3 and its transpose, padded
   to WIDTH columns; G3 (WIDTH, WIDTH) and s3 (WIDTH) collect the gradients of W3 and b3; `buffer` holds five
   (BLOCK, WIDTH) pieces. */
static float critic_block(
    const Shape *s, const float *P, const float *transposed, const float *last, const float *last_transposed,
    const float *bias, const float *u, const float *a, const float *w, int64_t rows, float (*buffer)[BLOCK * WIDTH],
    float *input_gradient, float *G, float *G3, float *s3)
{
    static const float zero[WIDTH];
    float *z1 = buffer[0], *z2 = buffer[1], *output_gradient = buffer[2], *d2 = buffer[3], *d1 = buffer[4], loss = 0;
    products(rows, u, 1, 1, P + s->w1, 1, P + s->b1, z1);
    tanh_all(z1, rows * WIDTH);
    products(rows, z1, WIDTH, 1, P + s->w2, WIDTH, P + s->b2, z2);
    tanh_all(z2, rows * WIDTH);
    products(rows, z2, WIDTH, 1, last, WIDTH, bias, output_gradient);
    for (int64_t i = 0; i < rows; i++) {
        float each = w[i] / s->outputs, sum = 0;
        for (int64_t j = 0; j < s->outputs; j++) {
            float error = output_gradient[i * WIDTH + j] - a[i * s->outputs + j];
            sum += error * error;
            output_gradient[i * WIDTH + j] = 2.0f * each * error;
        }
        loss += each * sum;
    }
    products(WIDTH, z2, 1, WIDTH, output_gradient, rows, NULL, G3);
    add_rows(output_gradient, rows, s3);
    products(rows, output_gradient, WIDTH, 1, last_transposed, s->outputs, zero, d2);
    for (int64_t i = 0; i < rows * WIDTH; i += LANES) {
        vec z = load(z2 + i);
        store(d2 + i, load(d2 + i) * (1.0f - z * z));
    }
    products(WIDTH, z1, 1, WIDTH, d2, rows, NULL, G + s->w2);
    add_rows(d2, rows, G + s->b2);
    products(rows, d2, WIDTH, 1, transposed, WIDTH, zero, d1);
    for (int64_t i = 0; i < rows; i++) {
        vec sum = all(0);
        for (int v = 0; v < WIDTH; v += LANES) {
            vec z = load(z1 + i * WIDTH + v), d = load(d1 + i * WIDTH + v) * (1.0f - z * z);
            store(d1 + i * WIDTH + v, d);
            sum += d * load(P + s->w1 + v);
        }
        input_gradient[i] = 0;
        for (int lane = 0; lane < LANES; lane++) input_gradient[i] += sum[lane];
    }
    products(1, u, 1, 1, d1, rows, NULL, G + s->w1);
    add_rows(d1, rows, G + s->b1);
    return loss;
}

/* sum_i w_i |g(u_i) - a_i|^2 / outputs of every configuration, as partial sums in `losses` (config, panels), with the
   gradient in P in G (config, stride) and the gradient in u in `input_gradient` (config, rows); u (config, rows),
   a (rows, outputs), w (rows). At most WIDTH outputs. */
void mlp_critic_loss(
    const Shape *s, int64_t configs, int64_t rows, const float *P, const float *u, const float *a, const float *w,
    float *losses, float *input_gradient, float *parts, float *G, int threads)
{
    int64_t panels = panels_of(rows);
    memset(parts, 0, sizeof(float) * configs * panels * s->stride);
    memset(G, 0, sizeof(float) * configs * s->stride);
    #pragma omp parallel for schedule(static) num_threads(threads) if (configs * panels > 1)
    for (int64_t unit = 0; unit < configs * panels; unit++) {
        int64_t c = unit / panels, first = unit % panels * PANEL, end = least(rows, first + PANEL);
        float buffer[5][BLOCK * WIDTH] __attribute__((aligned(64)));
        float transposed[WIDTH * WIDTH] __attribute__((aligned(64))), last[WIDTH * WIDTH] __attribute__((aligned(64)));
        float last_transposed[WIDTH * WIDTH] __attribute__((aligned(64)));
        float G3[WIDTH * WIDTH] __attribute__((aligned(64)));
        float bias[WIDTH] = {0}, s3[WIDTH] = {0};
        const float *own = P + c * s->stride;
        float *out = parts + unit * s->stride;
        transpose(own + s->w2, transposed);
        memset(last, 0, sizeof last);
        memset(G3, 0, sizeof G3);
        memcpy(bias, own + s->b3, sizeof(float) * s->outputs);
        for (int i = 0; i < WIDTH; i++)
            memcpy(last + i * WIDTH, own + s->w3 + i * s->outputs, sizeof(float) * s->outputs);
        transpose(last, last_transposed);
        losses[unit] = 0;
        for (int64_t i = first; i < end; i += BLOCK)
            losses[unit] += critic_block(s, own, transposed, last, last_transposed, bias, u + c * rows + i,
                                         a + i * s->outputs, w + i, least(BLOCK, end - i), buffer,
                                         input_gradient + c * rows + i, out, G3, s3);
        for (int i = 0; i < WIDTH; i++)
            memcpy(out + s->w3 + i * s->outputs, G3 + i * WIDTH, sizeof(float) * s->outputs);
        memcpy(out + s->b3, s3, sizeof(float) * s->outputs);
    }
    add_panels(s, configs, panels, parts, G, threads);
}
