#ifndef EK_SERVER_WORKER_SECRET_H_
#define EK_SERVER_WORKER_SECRET_H_

// What a daemon and its workers both know and neither sends: 32 random bytes in
// a file of one line, 64 hex digits, that nobody but its owner can read. Each
// side proves that it knows them by an HMAC over both sides' nonces.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file.h"

namespace edgekiln::server {

inline constexpr size_t kNonceBytes = 32;
inline constexpr char kWorkerSecretName[] = "worker_secret";
// Metadata of a worker's blob calls.
inline constexpr char kSessionMetadata[] = "edgekiln-session-bin";

// Bytes from the system's random source. Errors: UNAVAILABLE.
absl::StatusOr<std::string> NewNonce();

// The reason of NOT_FOUND below.
inline constexpr char kSecretMissing[] = "SECRET_MISSING";

// The secret in a file. Errors: NOT_FOUND; PERMISSION_DENIED with reason
// SECRET_UNSAFE (open to others, of another owner, or no regular file);
// DATA_LOSS with reason SECRET_DAMAGED (not 64 hex digits).
absl::StatusOr<std::string> ReadWorkerSecret(const std::string& path);

// The same, of a file that is made, durably, if it is not there. To be called
// by one process at a time.
absl::StatusOr<std::string> ReadOrMakeWorkerSecret(FileSystem& files,
                                                   const std::string& path);

// Who proves it: neither answer is of use to the other side.
enum class Side { kWorker, kDaemon };

std::string Proof(Side side, const std::string& secret,
                  absl::string_view daemon_nonce,
                  absl::string_view worker_nonce);

// Whether `proof` is that. Takes as long for a wrong one as for a right one.
// False for nonces that are not kNonceBytes long.
bool IsProof(absl::string_view proof, Side side, const std::string& secret,
             absl::string_view daemon_nonce, absl::string_view worker_nonce);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_SECRET_H_
