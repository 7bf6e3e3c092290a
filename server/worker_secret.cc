#include "server/worker_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/scoped_fd.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

constexpr size_t kSecretBytes = 32;
constexpr size_t kDigits = 2 * kSecretBytes;

absl::Status Unsafe(const std::string& path, std::string what,
                    std::string limit, std::string fix) {
  return MakeError(absl::StatusCode::kPermissionDenied,
                   {.fault = Fault::kInfra,
                    .reason = "SECRET_UNSAFE",
                    .what = std::move(what),
                    .where = path,
                    .limit = std::move(limit),
                    .need = "a regular file of this user's with mode 0600",
                    .fix = std::move(fix)});
}

absl::Status Damaged(const std::string& path) {
  return MakeError(
      absl::StatusCode::kDataLoss,
      {.fault = Fault::kInfra,
       .reason = "SECRET_DAMAGED",
       .what = "the file does not have a workers' secret",
       .where = path,
       .limit = absl::StrCat(kDigits, " hex digits and a line feed"),
       .need = "the file as the daemon made it",
       .fix = "copy it again; or remove the daemon's own, start the daemon, "
              "and copy the new one to all workers"});
}

absl::Status CannotOpen(const std::string& path, int error) {
  const bool absent = error == ENOENT;
  return MakeError(
      absent            ? absl::StatusCode::kNotFound
      : error == EACCES ? absl::StatusCode::kPermissionDenied
                        : absl::StatusCode::kUnavailable,
      {.fault = Fault::kInfra,
       .reason = absent ? kSecretMissing : "SECRET_UNREADABLE",
       .what =
           absl::StrCat("cannot read the workers' secret: ", strerror(error)),
       .where = path,
       .limit = "workers are taken if they know the daemon's secret",
       .need = "the file worker_secret of the daemon's state folder",
       .fix = "start the daemon first, which makes it; for another machine, "
              "copy it and name it: edgekiln-worker --secret-file FILE"});
}

absl::Status CheckSafe(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return CannotOpen(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Unsafe(path, "the workers' secret is not a regular file", "",
                  "name the file that the daemon made");
  }
  if (info.st_uid != geteuid()) {
    return Unsafe(path, "the workers' secret belongs to another user",
                  absl::StrCat("owner ", info.st_uid),
                  absl::StrCat("chown ", geteuid(), " ", path));
  }
  if ((info.st_mode & 077) != 0) {
    return Unsafe(path, "the workers' secret is open to others",
                  absl::StrCat("mode ", absl::Hex((info.st_mode >> 6) & 7),
                               absl::Hex((info.st_mode >> 3) & 7),
                               absl::Hex(info.st_mode & 7)),
                  absl::StrCat("chmod 600 ", path,
                               "; if others may have read it, remove it and "
                               "start the daemon, which makes a new one"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> NewNonce() {
  std::string bytes(kNonceBytes, '\0');
  if (getentropy(bytes.data(), bytes.size()) == 0) return bytes;
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "NO_RANDOMNESS",
                    .what = absl::StrCat("no random bytes: ", strerror(errno)),
                    .fix = "use a kernel with getrandom"});
}

absl::StatusOr<std::string> ReadWorkerSecret(const std::string& path) {
  const ScopedFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.get() < 0) {
    if (errno == ELOOP) {
      return Unsafe(path, "the workers' secret is a symbolic link", "",
                    "name the file itself");
    }
    return CannotOpen(path, errno);
  }
  EK_RETURN_IF_ERROR(CheckSafe(fd.get(), path));
  // One byte more than fits, to see what is too long.
  char text[kDigits + 2];
  const ssize_t size = pread(fd.get(), text, sizeof(text), 0);
  if (size < 0) return CannotOpen(path, errno);
  const absl::string_view line = absl::StripTrailingAsciiWhitespace(
      absl::string_view(text, static_cast<size_t>(size)));
  if (line.size() != kDigits || static_cast<size_t>(size) > kDigits + 1 ||
      !std::all_of(line.begin(), line.end(), absl::ascii_isxdigit)) {
    return Damaged(path);
  }
  return absl::HexStringToBytes(line);
}

absl::StatusOr<std::string> ReadOrMakeWorkerSecret(FileSystem& files,
                                                   const std::string& path) {
  absl::StatusOr<std::string> secret = ReadWorkerSecret(path);
  if (!absl::IsNotFound(secret.status())) return secret;
  EK_ASSIGN_OR_RETURN(const std::string bytes, NewNonce());
  EK_RETURN_IF_ERROR(
      WriteAtomically(files, path,
                      absl::StrCat(absl::BytesToHexString(bytes), "\n")),
      "making the workers' secret");
  return ReadWorkerSecret(path);
}

std::string Proof(Side side, const std::string& secret,
                  absl::string_view daemon_nonce,
                  absl::string_view worker_nonce) {
  const std::string text = absl::StrCat(
      side == Side::kWorker ? "edgekiln worker 1" : "edgekiln daemon 1",
      daemon_nonce, worker_nonce);
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  // Fails only without memory.
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           mac, &size) == nullptr) {
    std::abort();
  }
  return std::string(reinterpret_cast<const char*>(mac), size);
}

bool IsProof(absl::string_view proof, Side side, const std::string& secret,
             absl::string_view daemon_nonce, absl::string_view worker_nonce) {
  if (daemon_nonce.size() != kNonceBytes ||
      worker_nonce.size() != kNonceBytes) {
    return false;
  }
  const std::string right = Proof(side, secret, daemon_nonce, worker_nonce);
  return proof.size() == right.size() &&
         CRYPTO_memcmp(proof.data(), right.data(), right.size()) == 0;
}

}  // namespace edgekiln::server
