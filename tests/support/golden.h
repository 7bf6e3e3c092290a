#ifndef EK_TESTS_SUPPORT_GOLDEN_H_
#define EK_TESTS_SUPPORT_GOLDEN_H_

// Text files that tests compare with. To accept a change: run the test with
// EK_UPDATE_GOLDENS=1, then read the diff.

#include <string>

namespace edgekiln::tests {

// Fails the running test unless the file `golden` (relative to the root of the
// repository) holds exactly `actual`; says the first line that differs. With
// EK_UPDATE_GOLDENS=1 writes the file instead.
void ExpectMatchesGolden(const std::string& golden, const std::string& actual);

// Absolute path of a file of the repository.
std::string SourcePath(const std::string& relative);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_SUPPORT_GOLDEN_H_
