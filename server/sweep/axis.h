#ifndef EK_SERVER_SWEEP_AXIS_H_
#define EK_SERVER_SWEEP_AXIS_H_

// One varied key with its values.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/sweep.pb.h"

namespace edgekiln::server {

inline constexpr int kMaxKeys = 16;      // Of a group.
inline constexpr int kMaxValues = 4096;  // Of a key.

// INVALID_ARGUMENT of a sweep's request; `fix` and the like as in ErrorDetail.
absl::Status BadSweep(const std::string& reason, const std::string& what,
                      const std::string& where, const std::string& limit,
                      const std::string& need, const std::string& fix);

inline constexpr size_t kMaxQuantizationBytes = 4096;
// INVALID_ARGUMENT if a plan could not have it in each of its cells.
absl::Status CheckSweptQuantization(const v1::QuantizationConfig& config,
                                    const std::string& where);

class Axis {
 public:
  // Keys that are options of jobs, and not parameters of targets.
  static const std::vector<std::string>& OptionKeys();

  // INVALID_ARGUMENT: no values, too many, or one that does not parse.
  static absl::StatusOr<Axis> Parse(const v1::SweepVary& vary);

  const std::string& key() const { return key_; }
  int size() const { return static_cast<int>(texts_.size()); }
  const std::string& text(int value) const { return texts_[value]; }
  bool is_option() const { return is_option_; }
  // Of a parameter.
  int64_t number(int value) const { return numbers_[value]; }
  // Of an option: makes `options` have the value.
  void Apply(int value, v1::SweepOptions& options) const;
  // Of an option: makes `options` have no value for it.
  void Clear(v1::SweepOptions& options) const;
  // Of an option: whether `options` have a value of their own for it.
  bool IsSetIn(const v1::SweepOptions& options) const;
  // Of key "quantization": whether some value asks for models that came
  // quantized to be quantized anew.
  bool requantizes() const { return requantizes_; }
  // Whether the value is what an exclude's pattern says; numbers also where
  // they are written in another way.
  bool Matches(int value, const std::string& pattern) const;

 private:
  Axis() = default;

  std::string key_;
  bool is_option_ = false;
  bool requantizes_ = false;
  std::vector<std::string> texts_;
  std::vector<int64_t> numbers_;           // Of parameters.
  std::vector<v1::SweepOptions> options_;  // Of options: the field of the key.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_AXIS_H_
