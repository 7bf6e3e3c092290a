#include "compiler/dataset/sample_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kStepBytes = int64_t{1} << 20;

// Of each element.
void ReverseBytes(int64_t element_bytes, std::string& values) {
  for (auto at = values.begin(); at != values.end(); at += element_bytes) {
    std::reverse(at, at + element_bytes);
  }
}

class StreamReader : public SampleReader {
 public:
  StreamReader(ByteStream values, const NpyInfo& info,
               std::optional<uint32_t> crc, absl::string_view name)
      : values_(std::move(values)),
        info_(info),
        crc_(crc),
        name_(name),
        left_(info.shape.empty() ? 0 : info.shape[0]) {}

  absl::StatusOr<absl::string_view> Next(int64_t samples) override {
    EK_RETURN_IF_ERROR(
        values_.Read(samples * StoredSampleBytes(info_), window_));
    left_ -= samples;
    if (info_.big_endian) ReverseBytes(NpyTypeBytes(info_.type), window_);
    return window_;
  }

  absl::Status Finish() override {
    const int64_t rest = left_ * StoredSampleBytes(info_);
    if (rest > kCheckedRestBytes) return absl::OkStatus();
    EK_RETURN_IF_ERROR(values_.Skip(rest));
    EK_RETURN_IF_ERROR(values_.ExpectEnd());
    if (!crc_ || *crc_ == values_.crc()) return absl::OkStatus();
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "DATA_CORRUPT",
                      .what = "checksum does not match",
                      .where = name_,
                      .fix = "write the file again, or fetch it again"});
  }

 private:
  ByteStream values_;
  const NpyInfo info_;
  const std::optional<uint32_t> crc_;
  const std::string name_;
  int64_t left_;  // Samples.
  std::string window_;
};

// Steps through the elements of a sample in Fortran order and knows where each
// is in C order.
class FortranOrder {
 public:
  explicit FortranOrder(const NpyInfo& info)
      : extents_(info.shape.begin() + 1, info.shape.end()),
        strides_(extents_.size()),
        index_(extents_.size(), 0) {
    int64_t stride = 1;
    for (size_t d = extents_.size(); d-- > 0;) {
      strides_[d] = stride;
      stride *= extents_[d];
    }
  }

  int64_t position() const { return position_; }
  void Advance() {
    for (size_t d = 0; d < extents_.size(); ++d) {
      position_ += strides_[d];
      if (++index_[d] < extents_[d]) return;
      position_ -= strides_[d] * extents_[d];
      index_[d] = 0;
    }
  }

 private:
  const std::vector<int64_t> extents_;
  std::vector<int64_t> strides_;
  std::vector<int64_t> index_;
  int64_t position_ = 0;
};

class FortranReader : public SampleReader {
 public:
  FortranReader(ByteStream values, const NpyInfo& info, int64_t wanted,
                std::optional<uint32_t> crc, absl::string_view name)
      : stream_(std::move(values), AsColumns(info), crc, name),
        info_(info),
        wanted_(wanted) {}

  absl::StatusOr<absl::string_view> Next(int64_t samples) override {
    EK_RETURN_IF_ERROR(Unpack());
    const size_t bytes =
        static_cast<size_t>(samples * StoredSampleBytes(info_));
    const absl::string_view next =
        absl::string_view(values_).substr(given_, bytes);
    given_ += bytes;
    return next;
  }

  absl::Status Finish() override {
    EK_RETURN_IF_ERROR(Unpack());
    return stream_.Finish();
  }

 private:
  // The file holds one element of every sample after the other.
  static NpyInfo AsColumns(const NpyInfo& info) {
    NpyInfo columns = info;
    columns.shape = {StoredSampleBytes(info) / NpyTypeBytes(info.type),
                     info.shape[0]};
    return columns;
  }

  absl::Status Unpack() {
    if (std::exchange(unpacked_, true)) return absl::OkStatus();
    const int64_t element = NpyTypeBytes(info_.type);
    const int64_t sample = StoredSampleBytes(info_);
    const int64_t column = info_.shape[0] * element;
    values_.resize(static_cast<size_t>(wanted_ * sample));
    FortranOrder order(info_);
    const int64_t step = std::max<int64_t>(1, kStepBytes / column);
    for (int64_t left = sample / element; left > 0;) {
      const int64_t columns = std::min(step, left);
      EK_ASSIGN_OR_RETURN(absl::string_view read, stream_.Next(columns));
      for (int64_t i = 0; i < columns; ++i, order.Advance()) {
        for (int64_t s = 0; s < wanted_; ++s) {
          std::memcpy(values_.data() + s * sample + order.position() * element,
                      read.data() + i * column + s * element,
                      static_cast<size_t>(element));
        }
      }
      left -= columns;
    }
    return absl::OkStatus();
  }

  StreamReader stream_;
  const NpyInfo info_;
  const int64_t wanted_;
  bool unpacked_ = false;
  std::string values_;
  size_t given_ = 0;  // Bytes.
};

}  // namespace

int64_t StoredSampleBytes(const NpyInfo& info) {
  // An extent of 0 excuses any size of the others.
  const auto elements =
      CheckedProduct(absl::MakeConstSpan(info.shape)
                         .subspan(std::min<size_t>(1, info.shape.size())));
  return elements.value_or(0) * NpyTypeBytes(info.type);
}

std::unique_ptr<SampleReader> NewSampleReader(ByteStream values,
                                              const NpyInfo& info,
                                              int64_t wanted,
                                              std::optional<uint32_t> crc,
                                              absl::string_view name) {
  if (info.fortran_order && info.shape.size() > 1) {
    return std::make_unique<FortranReader>(
        std::move(values), info, std::min(wanted, info.shape[0]), crc, name);
  }
  return std::make_unique<StreamReader>(std::move(values), info, crc, name);
}

}  // namespace edgekiln::compiler
