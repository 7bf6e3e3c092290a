#include "compiler/dataset/inflate.h"

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/dataset/byte_stream.h"
#include "compiler/dataset/zlib_portion.h"
#include "zlib.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kStepBytes = int64_t{1} << 20;

absl::StatusOr<std::string> InflatePrefix(absl::string_view in, Packing packing,
                                          int64_t bytes,
                                          absl::string_view where) {
  std::string out;
  EK_RETURN_IF_ERROR(ByteStream(in, packing, where).ReadPrefix(bytes, out));
  return out;
}

}  // namespace

absl::StatusOr<std::string> InflateRaw(absl::string_view deflated,
                                       int64_t inflated_bytes,
                                       absl::string_view where) {
  ByteStream stream(deflated, Packing::kDeflate, where);
  std::string out;
  EK_RETURN_IF_ERROR(stream.Read(inflated_bytes, out));
  EK_RETURN_IF_ERROR(stream.ExpectEnd());
  return out;
}

absl::StatusOr<std::string> InflateRawPrefix(absl::string_view deflated,
                                             int64_t bytes,
                                             absl::string_view where) {
  return InflatePrefix(deflated, Packing::kDeflate, bytes, where);
}

absl::StatusOr<std::string> InflateGzipPrefix(absl::string_view gzip,
                                              int64_t bytes,
                                              absl::string_view where) {
  return InflatePrefix(gzip, Packing::kGzip, bytes, where);
}

std::string DeflateRaw(absl::string_view bytes) {
  z_stream stream = {};
  std::string out;
  if (deflateInit2(&stream, 6, Z_DEFLATED, kRawWindowBits, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return out;
  }
  size_t taken = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    const size_t done = out.size();
    out.resize(done + kStepBytes);
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())) + taken;
    stream.avail_in = ZlibPortion(static_cast<int64_t>(bytes.size() - taken));
    stream.next_out = reinterpret_cast<Bytef*>(out.data()) + done;
    stream.avail_out = ZlibPortion(kStepBytes);
    const uInt offered = stream.avail_in;
    const bool last = taken + offered == bytes.size();
    code = deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    taken += offered - stream.avail_in;
    out.resize(out.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

uint32_t Crc32(absl::string_view bytes) { return ContinueCrc32(0, bytes); }

}  // namespace edgekiln::compiler
