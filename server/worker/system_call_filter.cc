#include "server/worker/system_call_filter.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace edgekiln::server {

SystemCallFilter::SystemCallFilter(uint32_t otherwise)
    : filter_(seccomp_init(otherwise)) {
  if (filter_ == nullptr) error_ = ENOMEM;
  Note(seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH,
                        SCMP_ACT_KILL_PROCESS));
}

void SystemCallFilter::Allow(int call) { Add(SCMP_ACT_ALLOW, call, nullptr); }

void SystemCallFilter::AllowIf(int call, scmp_arg_cmp argument) {
  Add(SCMP_ACT_ALLOW, call, &argument);
}

void SystemCallFilter::Refuse(int call, int error) {
  Add(SCMP_ACT_ERRNO(static_cast<uint16_t>(error)), call, nullptr);
}

void SystemCallFilter::RefuseIf(int call, int error, scmp_arg_cmp argument) {
  Add(SCMP_ACT_ERRNO(static_cast<uint16_t>(error)), call, &argument);
}

absl::Status SystemCallFilter::Load() {
  Note(seccomp_load(filter_.get()));
  if (error_ == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the system refuses: ", strerror(error_)));
}

void SystemCallFilter::Add(uint32_t action, int call,
                           const scmp_arg_cmp* argument) {
  Note(seccomp_rule_add_array(filter_.get(), action, call,
                              argument == nullptr ? 0 : 1, argument));
}

void SystemCallFilter::Note(int result) {
  if (error_ == 0 && result < 0) error_ = -result;
}

}  // namespace edgekiln::server
