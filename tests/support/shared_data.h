#ifndef EK_TESTS_SUPPORT_SHARED_DATA_H_
#define EK_TESTS_SUPPORT_SHARED_DATA_H_

// Models and data sets that live outside the repository, in the folder the
// CMake cache variable EK_SHARED_DIR names. A test that needs one and does not
// find it skips visibly; where CI=true it fails instead.

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/skip.h"

namespace edgekiln::tests {

// Path of `relative` ("models/ad_int8.tflite") if the file is there.
std::optional<std::string> SharedFile(const std::string& relative);

// The same where EK_REQUIRE_SHARED has made sure of it; aborts otherwise.
std::string SharedPath(const std::string& relative);

// "EK_SHARED_DIR has no models/ad_int8.tflite", and what to do.
std::string AbsentText(const std::string& relative);

// The whole file; a failed read is a test failure and gives "".
std::string ReadWholeFile(const std::string& path);

}  // namespace edgekiln::tests

// In the body of a test (or SetUp): leaves it unless the file is there.
#define EK_REQUIRE_SHARED(relative)                             \
  do {                                                          \
    if (!::edgekiln::tests::SharedFile(relative).has_value()) { \
      EK_SKIP(::edgekiln::tests::AbsentText(relative));         \
    }                                                           \
  } while (false)

#endif  // EK_TESTS_SUPPORT_SHARED_DATA_H_
