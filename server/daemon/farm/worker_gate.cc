#include "server/daemon/farm/worker_gate.h"

#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

absl::Status NotAWorker() {
  return MakeError(
      absl::StatusCode::kUnauthenticated,
      {.fault = Fault::kUser,
       .reason = "WORKER_UNKNOWN",
       .what = "this worker does not know the daemon's secret",
       .limit = "workers are taken if they prove that they know it",
       .need = "the file worker_secret of the daemon's state folder",
       .fix = "give it the daemon's worker_secret: edgekiln-worker "
              "--secret-file FILE"});
}

absl::Status NoSession() {
  return MakeError(absl::StatusCode::kUnauthenticated,
                   {.fault = Fault::kUser,
                    .reason = "NO_SESSION",
                    .what = "this address serves blobs to workers only",
                    .limit = "calls with the session of a connected worker",
                    .need = kSessionMetadata,
                    .fix = "use the daemon's address for clients"});
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerGate::Visitor>> WorkerGate::Admit(
    std::function<void()> end) {
  std::unique_ptr<Visitor> visitor(new Visitor(*this));
  EK_ASSIGN_OR_RETURN(*visitor->challenge_.mutable_challenge()->mutable_nonce(),
                      NewNonce());
  MutexLock lock(mutex_);
  if (static_cast<int>(strangers_.size()) >= options_.max_strangers) {
    strangers_.begin()->second.end();
    strangers_.erase(strangers_.begin());
  }
  visitor->id_ = next_id_++;
  strangers_[visitor->id_] = {clock_.Monotonic(), std::move(end)};
  return visitor;
}

absl::StatusOr<v1::DaemonMessage::Welcome> WorkerGate::Visitor::Enter(
    const v1::WorkerMessage::Hello& hello, absl::string_view peer) {
  const std::string& secret = gate_.options_.secret;
  const std::string& nonce = challenge_.challenge().nonce();
  if (!IsProof(hello.proof(), Side::kWorker, secret, nonce, hello.nonce())) {
    gate_.Warn(peer);
    return NotAWorker();
  }
  EK_ASSIGN_OR_RETURN(const std::string token, NewNonce());
  v1::DaemonMessage::Welcome welcome;
  welcome.set_proof(Proof(Side::kDaemon, secret, nonce, hello.nonce()));
  welcome.set_session(token);
  session_ = DigestOf(token).hash;
  MutexLock lock(gate_.mutex_);
  gate_.strangers_.erase(id_);
  gate_.sessions_.insert(session_);
  return welcome;
}

WorkerGate::Visitor::~Visitor() { gate_.Leave(*this); }

void WorkerGate::Leave(const Visitor& visitor) {
  MutexLock lock(mutex_);
  strangers_.erase(visitor.id_);
  sessions_.erase(visitor.session_);
}

void WorkerGate::Tick() {
  MutexLock lock(mutex_);
  const absl::Duration now = clock_.Monotonic();
  while (!strangers_.empty() &&
         now - strangers_.begin()->second.since > options_.patience) {
    strangers_.begin()->second.end();
    strangers_.erase(strangers_.begin());
  }
}

absl::Status WorkerGate::CheckSession(absl::string_view token) const {
  if (token.size() == kNonceBytes) {
    const std::string session = DigestOf(token).hash;
    MutexLock lock(mutex_);
    if (sessions_.count(session) > 0) return absl::OkStatus();
  }
  return NoSession();
}

void WorkerGate::Warn(absl::string_view peer) {
  {
    MutexLock lock(mutex_);
    const absl::Duration now = clock_.Monotonic();
    if (now - warned_ < options_.warn_interval) return;
    warned_ = now;
  }
  log_.Warning("turned away a worker at ", peer,
               ", which does not know the secret; others are not logged for a "
               "while");
}

}  // namespace edgekiln::server
