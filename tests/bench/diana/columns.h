#ifndef EK_TESTS_BENCH_DIANA_COLUMNS_H_
#define EK_TESTS_BENCH_DIANA_COLUMNS_H_

namespace edgekiln::bench {

// A column of HTVM's Table I: a chip, and the form of the models for it.
struct Column {
  const char* name;
  const char* target;
  const char* models;  // "htvm_NAME_MODELS.onnx".
};
inline constexpr Column kDigital = {"digital", "diana", "digital"};
inline constexpr Column kAnalog = {"analog", "diana-analog", "analog"};
inline constexpr Column kMixed = {"mixed", "diana", "mixed"};

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_COLUMNS_H_
