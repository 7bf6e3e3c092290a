/* Two functions with the signatures of CMSIS-NN 5, in plain C, with single
   rounding: what calls of an external library are tested against. */
#ifndef EK_TESTING_ARM_NNFUNCTIONS_H_
#define EK_TESTING_ARM_NNFUNCTIONS_H_

#include <stdint.h>

typedef enum {
  ARM_CMSIS_NN_SUCCESS = 0,
  ARM_CMSIS_NN_ARG_ERROR = -1
} arm_cmsis_nn_status;

typedef struct {
  void* buf;
  int32_t size;
} cmsis_nn_context;
typedef struct {
  int32_t n, h, w, c;
} cmsis_nn_dims;
typedef struct {
  int32_t w, h;
} cmsis_nn_tile;
typedef struct {
  int32_t min, max;
} cmsis_nn_activation;
typedef struct {
  int32_t* multiplier;
  int32_t* shift;
} cmsis_nn_per_channel_quant_params;
typedef struct {
  int32_t multiplier, shift;
} cmsis_nn_per_tensor_quant_params;
typedef struct {
  int32_t input_offset, output_offset;
  cmsis_nn_tile stride, padding, dilation;
  cmsis_nn_activation activation;
} cmsis_nn_conv_params;
typedef struct {
  int32_t input_offset, filter_offset, output_offset;
  cmsis_nn_activation activation;
} cmsis_nn_fc_params;

static inline int8_t ek_finish(int32_t sum, int32_t multiplier, int32_t shift,
                               int32_t offset, cmsis_nn_activation range) {
  const int32_t n = 31 - shift;
  const int64_t half = (int64_t)sum * multiplier >> (n - 1);
  int64_t value = ((half + 1) >> 1) + offset;
  if (value < range.min) value = range.min;
  if (value > range.max) value = range.max;
  return (int8_t)value;
}

static inline arm_cmsis_nn_status arm_convolve_wrapper_s8(
    const cmsis_nn_context* ctx, const cmsis_nn_conv_params* conv,
    const cmsis_nn_per_channel_quant_params* quant,
    const cmsis_nn_dims* input_dims, const int8_t* input,
    const cmsis_nn_dims* filter_dims, const int8_t* filter,
    const cmsis_nn_dims* bias_dims, const int32_t* bias,
    const cmsis_nn_dims* output_dims, int8_t* output) {
  const cmsis_nn_dims x = *input_dims, f = *filter_dims, y = *output_dims;
  int32_t n, oy, ox, o, ky, kx, c;
  if (ctx->buf == 0 || ctx->size < 4 * x.c * f.h * f.w || bias_dims->c != y.c) {
    return ARM_CMSIS_NN_ARG_ERROR;
  }
  for (n = 0; n < x.n; ++n) {
    for (oy = 0; oy < y.h; ++oy) {
      for (ox = 0; ox < y.w; ++ox) {
        for (o = 0; o < y.c; ++o) {
          int32_t sum = bias == 0 ? 0 : bias[o];
          for (ky = 0; ky < f.h; ++ky) {
            for (kx = 0; kx < f.w; ++kx) {
              const int32_t iy =
                  oy * conv->stride.h - conv->padding.h + ky * conv->dilation.h;
              const int32_t ix =
                  ox * conv->stride.w - conv->padding.w + kx * conv->dilation.w;
              if (iy < 0 || iy >= x.h || ix < 0 || ix >= x.w) continue;
              for (c = 0; c < x.c; ++c) {
                sum += (input[((n * x.h + iy) * x.w + ix) * x.c + c] +
                        conv->input_offset) *
                       filter[((o * f.h + ky) * f.w + kx) * x.c + c];
              }
            }
          }
          *output++ = ek_finish(sum, quant->multiplier[o], quant->shift[o],
                                conv->output_offset, conv->activation);
        }
      }
    }
  }
  return ARM_CMSIS_NN_SUCCESS;
}

static inline arm_cmsis_nn_status arm_fully_connected_s8(
    const cmsis_nn_context* ctx, const cmsis_nn_fc_params* fc,
    const cmsis_nn_per_tensor_quant_params* quant,
    const cmsis_nn_dims* input_dims, const int8_t* input,
    const cmsis_nn_dims* filter_dims, const int8_t* filter,
    const cmsis_nn_dims* bias_dims, const int32_t* bias,
    const cmsis_nn_dims* output_dims, int8_t* output) {
  int32_t n, o, k;
  (void)ctx;
  if (bias_dims->c != output_dims->c) return ARM_CMSIS_NN_ARG_ERROR;
  for (n = 0; n < input_dims->n; ++n) {
    for (o = 0; o < output_dims->c; ++o) {
      int32_t sum = bias == 0 ? 0 : bias[o];
      for (k = 0; k < filter_dims->n; ++k) {
        sum += (input[n * filter_dims->n + k] + fc->input_offset) *
               (filter[o * filter_dims->n + k] + fc->filter_offset);
      }
      *output++ = ek_finish(sum, quant->multiplier, quant->shift,
                            fc->output_offset, fc->activation);
    }
  }
  return ARM_CMSIS_NN_SUCCESS;
}

#endif
