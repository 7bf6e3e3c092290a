#ifndef EK_TESTS_PRECOMPILED_HEADERS_H_
#define EK_TESTS_PRECOMPILED_HEADERS_H_

#include "cmake/precompiled/headers.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

#endif  // EK_TESTS_PRECOMPILED_HEADERS_H_
