#ifndef EK_TESTS_CHAOS_PLAIN_CONNECTION_H_
#define EK_TESTS_CHAOS_PLAIN_CONNECTION_H_

#include <string>

namespace edgekiln::chaos {

// A socket that connects to a port of loopback, "127.0.0.1:80", without
// waiting; -1 if even that fails. The caller closes it.
int StartConnecting(const std::string& address);

// False if not all could be sent within two seconds without progress.
bool SendAll(int fd, const std::string& bytes);

// The first bytes of an answer; empty if none comes within five seconds.
std::string AnswerOf(int fd);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_PLAIN_CONNECTION_H_
