#ifndef EK_TESTS_CHAOS_PLAIN_CONNECTION_H_
#define EK_TESTS_CHAOS_PLAIN_CONNECTION_H_

#include <string>

namespace edgekiln::chaos {

// A socket that connects to a port of loopback, "127.0.0.1:80", without
// waiting; -1 if even that fails. The caller closes it.
int StartConnecting(const std::string& address);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_PLAIN_CONNECTION_H_
