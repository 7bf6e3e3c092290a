#include "compiler/dataset/inflate.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
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

// Decodes until the stream ends; fails as soon as it gives more than `limit`.
absl::StatusOr<std::string> Inflate(absl::string_view in, int window,
                                    int64_t limit, absl::string_view where) {
  z_stream stream = {};
  if (inflateInit2(&stream, window) != Z_OK) {
    return absl::ResourceExhaustedError("zlib could not be initialised");
  }
  std::string out;
  int code = Z_OK;
  size_t taken = 0;
  while (code == Z_OK) {
    const size_t done = out.size();
    // One byte above the limit tells "exactly full" from "goes on".
    const int64_t room = std::min<int64_t>(
        std::max<int64_t>(kStepBytes, static_cast<int64_t>(done)),
        limit + 1 - static_cast<int64_t>(done));
    out.resize(done + static_cast<size_t>(room));
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(in.data())) + taken;
    stream.avail_in = Portion(static_cast<int64_t>(in.size() - taken));
    stream.next_out = reinterpret_cast<Bytef*>(out.data()) + done;
    stream.avail_out = Portion(room);
    const uInt offered = stream.avail_in;
    const uInt space = stream.avail_out;
    code = inflate(&stream, Z_NO_FLUSH);
    taken += offered - stream.avail_in;
    out.resize(done + (space - stream.avail_out));
    if (static_cast<int64_t>(out.size()) > limit) break;
  }
  inflateEnd(&stream);
  if (static_cast<int64_t>(out.size()) > limit) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "DATA_TOO_LARGE",
         .what = "compressed data is larger than announced or allowed",
         .where = std::string(where),
         .limit = absl::StrCat(limit, " bytes"),
         .fix = "use fewer samples, or write the file again"});
  }
  if (code != Z_STREAM_END)
    return BadStream("compressed data is damaged or cut off", where);
  if (taken != in.size())
    return BadStream("compressed data is followed by other bytes", where);
  return out;
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
  absl::StatusOr<std::string> out =
      Inflate(deflated, kRawWindow, inflated_bytes, where);
  if (out.ok() && static_cast<int64_t>(out->size()) != inflated_bytes) {
    return BadStream("compressed data is shorter than announced", where);
  }
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

absl::StatusOr<std::string> InflateGzip(absl::string_view gzip,
                                        int64_t max_bytes,
                                        absl::string_view where) {
  return Inflate(gzip, kGzipWindow, max_bytes, where);
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
