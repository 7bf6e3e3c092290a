#ifndef EK_SERVER_KEPT_INTEGERS_H_
#define EK_SERVER_KEPT_INTEGERS_H_

namespace edgekiln::server {

// The note of a quantization report of a model that came quantized and keeps
// its integers, though the target's engines round otherwise.
inline constexpr char kIntegersKept[] =
    "the model's integers stay: its biases hold half a step more, and results "
    "are rounded down";

}  // namespace edgekiln::server

#endif  // EK_SERVER_KEPT_INTEGERS_H_
