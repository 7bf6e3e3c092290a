#ifndef EK_CLIENT_RENDER_LIVE_BLOCK_H_
#define EK_CLIENT_RENDER_LIVE_BLOCK_H_

// Lines at the end of what a terminal shows, redrawn in place.

#include <string>
#include <vector>

namespace edgekiln::client {

// Makes the text that draws the lines; writes nothing. The cursor stays at the
// end of the last line, visible. Not thread-safe.
class LiveBlock {
 public:
  // Puts `lines`, at least one, in the place of those drawn before. None may be
  // wider than the window, and all of them together must fit it. `columns`: of
  // the window now; 0: not known. Where it was made narrower since the last
  // call, terminals have wrapped what was wider.
  std::string Draw(std::vector<std::string> lines, int columns);
  // Removes them, and leaves the cursor where they began.
  std::string Erase(int columns);

  // How far above the cursor the first line is.
  int lines_above() const {
    return lines_.empty() ? 0 : static_cast<int>(lines_.size()) - 1;
  }
  bool drawn() const { return !lines_.empty(); }

 private:
  // To the beginning of the first line.
  std::string ToBegin(int columns) const;

  std::vector<std::string> lines_;
  int columns_ = 0;  // When they were drawn.
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_LIVE_BLOCK_H_
