#include "client/exit_code.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "base/status_macros.h"
#include "client/error_detail.h"
#include "proto/convert.h"

namespace edgekiln::client {
namespace {

using Code = absl::StatusCode;

struct Case {
  std::string name;
  absl::Status status;
  ExitCode want;
};

absl::Status Error(Code code, Fault fault, const std::string& reason) {
  return MakeError(code, {.fault = fault, .reason = reason, .what = "w"});
}

TEST(ExitCodeForTest, Table) {
  const Case cases[] = {
      {"ok", absl::OkStatus(), ExitCode::kPass},
      {"unsupported op", Error(Code::kInvalidArgument, Fault::kUser, "OP"),
       ExitCode::kModel},
      {"does not fit", Error(Code::kResourceExhausted, Fault::kUser, "SRAM"),
       ExitCode::kModel},
      {"usage", UsageError("a", "b", "c", "d"), ExitCode::kUsage},
      {"gate", Error(Code::kFailedPrecondition, Fault::kInfra, kReasonGate),
       ExitCode::kGate},
      {"quota", Error(Code::kResourceExhausted, Fault::kQuota, "QUEUE_FULL"),
       ExitCode::kInfra},
      {"bug", Error(Code::kInternal, Fault::kInfra, "BUG"), ExitCode::kInfra},
      {"unreachable",
       Error(Code::kUnavailable, Fault::kInfra, kReasonUnreachable),
       ExitCode::kInfra},
      {"no worker",
       Error(Code::kDeadlineExceeded, Fault::kInfra, kReasonNoWorker),
       ExitCode::kInfra},
      {"queue deadline",
       Error(Code::kDeadlineExceeded, Fault::kQuota, kReasonQueueDeadline),
       ExitCode::kInfra},
      {"deadline", Error(Code::kDeadlineExceeded, Fault::kUser, "RUN_DEADLINE"),
       ExitCode::kDeadline},
      {"token", Error(Code::kUnauthenticated, Fault::kUser, "TOKEN"),
       ExitCode::kAuth},
      {"forbidden", Error(Code::kPermissionDenied, Fault::kUser, "ROLE"),
       ExitCode::kAuth},
      {"interrupted", Error(Code::kCancelled, Fault::kUser, kReasonInterrupted),
       ExitCode::kInterrupted},
      {"bare user code", absl::InvalidArgumentError("x"), ExitCode::kModel},
      {"bare not found", absl::NotFoundError("x"), ExitCode::kModel},
      {"bare unavailable", absl::UnavailableError("x"), ExitCode::kInfra},
      {"bare data loss", absl::DataLossError("x"), ExitCode::kInfra},
      {"with context",
       Annotate(Error(Code::kInvalidArgument, Fault::kInfra, "BUG"), "job 1"),
       ExitCode::kInfra},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ExitCodeFor(c.status), c.want) << c.name;
  }
}

TEST(ErrorDetailTest, CommandsInAFixGoToTheServerThatWasGiven) {
  v1::ErrorDetail error;
  error.set_fix("to try again: edgekiln quarantine release 3f2a90c1d7e4");
  EXPECT_EQ(WithServer(error, "host:7433").fix(),
            "to try again: edgekiln quarantine release 3f2a90c1d7e4 --server "
            "host:7433");
  EXPECT_EQ(WithServer(error, "").fix(), error.fix());
  error.set_fix("use a smaller model");
  EXPECT_EQ(WithServer(error, "host:7433").fix(), "use a smaller model");
}

TEST(ErrorDetailTest, WhatHasNoDetailIsTheUsersByItsExitCode) {
  const v1::ErrorDetail plain =
      DetailFromStatus(absl::UnavailableError("socket closed"));
  EXPECT_EQ(plain.fault(), v1::ErrorDetail::INFRA);
  EXPECT_EQ(plain.reason(), "UNAVAILABLE");
  EXPECT_EQ(plain.what(), "socket closed");
  EXPECT_EQ(DetailFromStatus(absl::NotFoundError("no file")).fault(),
            v1::ErrorDetail::USER);
  EXPECT_EQ(DetailFromStatus(absl::UnimplementedError("no method")).fault(),
            v1::ErrorDetail::INFRA);
}

}  // namespace
}  // namespace edgekiln::client
