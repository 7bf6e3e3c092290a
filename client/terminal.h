#ifndef EK_CLIENT_TERMINAL_H_
#define EK_CLIENT_TERMINAL_H_

// What the standard streams are connected to, and what may be drawn there.

#include <string>

#include "client/render/progress.h"
#include "client/render/text.h"

namespace edgekiln::client {

// Values of the variables of these names; empty if not set.
struct TerminalVariables {
  std::string no_color = {};  // NO_COLOR
  std::string term = {};      // TERM
  std::string lc_all = {};    // LC_ALL
  std::string lc_ctype = {};  // LC_CTYPE
  std::string lang = {};      // LANG
};
TerminalVariables ReadTerminalVariables();

// Neither colours nor cursor movement: NO_COLOR is not empty, or TERM is
// "dumb".
bool IsPlain(const TerminalVariables& variables);
// Whether the locale's characters are UTF-8.
bool IsUtf8(const TerminalVariables& variables);

// Of the window that `fd` is; 80 if it does not know, 0 if it is not a
// terminal. Asked each time: windows are resized.
int TerminalColumns(int fd);

// For text on something with that many columns, see above.
Style StyleFor(int columns, const TerminalVariables& variables);
// A live line needs a terminal that moves the cursor.
ProgressStyle ProgressStyleFor(int columns, const TerminalVariables& variables);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_TERMINAL_H_
