#ifndef EK_TESTS_BENCH_DIANA_COLUMNS_H_
#define EK_TESTS_BENCH_DIANA_COLUMNS_H_

// THE place to fill in once the analog array is part of the target: `exists`
// of the two columns that need it. Nothing else in this folder asks whether it
// does.
namespace edgekiln::bench {

// A column of HTVM's Table I: a chip, and the form of the models for it.
struct Column {
  const char* name;
  const char* target;
  const char* models;  // "htvm_NAME_MODELS.onnx".
  bool exists;
};
inline constexpr Column kDigital = {"digital", "diana", "digital", true};
inline constexpr Column kAnalog = {"analog", "diana-analog", "mixed", false};
inline constexpr Column kMixed = {"mixed", "diana", "mixed", false};

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_COLUMNS_H_
