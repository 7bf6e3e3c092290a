#include "compiler/dataset/inflate.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/byte_stream.h"
#include "zlib.h"

namespace edgekiln::compiler {
namespace {

constexpr int kRawWindow = -15;
constexpr int kGzipWindow = 15 + 16;
constexpr int64_t kStepBytes = int64_t{1} << 20;

absl::Status BadStream(absl::string_view what, absl::string_view where) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "DATA_CORRUPT",
                    .what = std::string(what),
                    .where = std::string(where),
                    .fix = "write the file again, or fetch it again"});
}

// zlib counts in unsigned int; hands over at most that much at a time.
uInt Portion(int64_t bytes) {
  return static_cast<uInt>(
      std::min<int64_t>(bytes, std::numeric_limits<int32_t>::max()));
}

// The first `bytes` of what a stream gives.
absl::StatusOr<std::string> InflatePrefix(absl::string_view in, int window,
                                          int64_t bytes,
                                          absl::string_view where) {
  z_stream stream = {};
  if (inflateInit2(&stream, window) != Z_OK) {
    return absl::ResourceExhaustedError("zlib could not be initialised");
  }
  std::string out(static_cast<size_t>(bytes), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  stream.avail_in = Portion(static_cast<int64_t>(in.size()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = Portion(bytes);
  const uInt space = stream.avail_out;
  const int code = inflate(&stream, Z_NO_FLUSH);
  out.resize(space - stream.avail_out);
  inflateEnd(&stream);
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
    return BadStream("compressed data is damaged or cut off", where);
  }
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
  return InflatePrefix(deflated, kRawWindow, bytes, where);
}

absl::StatusOr<std::string> InflateGzipPrefix(absl::string_view gzip,
                                              int64_t bytes,
                                              absl::string_view where) {
  return InflatePrefix(gzip, kGzipWindow, bytes, where);
}

std::string DeflateRaw(absl::string_view bytes) {
  z_stream stream = {};
  std::string out;
  if (deflateInit2(&stream, 6, Z_DEFLATED, kRawWindow, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return out;
  }
  size_t taken = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    const size_t done = out.size();
    out.resize(done + kStepBytes);
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())) + taken;
    stream.avail_in = Portion(static_cast<int64_t>(bytes.size() - taken));
    stream.next_out = reinterpret_cast<Bytef*>(out.data()) + done;
    stream.avail_out = Portion(kStepBytes);
    const uInt offered = stream.avail_in;
    const bool last = taken + offered == bytes.size();
    code = deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    taken += offered - stream.avail_in;
    out.resize(out.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

uint32_t Crc32(absl::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    const uInt portion = Portion(static_cast<int64_t>(bytes.size()));
    crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), portion);
    bytes.remove_prefix(portion);
  }
  return static_cast<uint32_t>(crc);
}

}  // namespace edgekiln::compiler
