#ifndef EK_SERVER_BACKGROUND_TURNS_H_
#define EK_SERVER_BACKGROUND_TURNS_H_

// Which of two queues goes next: what is in the background waits for the rest,
// but while both have something, every kTurnsToBackground-th turn is its own.

namespace edgekiln::server {

// Thread-compatible.
class BackgroundTurns {
 public:
  static constexpr int kTurnsToBackground = 4;

  // Whether the background's queue goes next. At least one must have something.
  bool Next(bool has_other, bool has_background) {
    if (!has_background) return false;
    if (has_other && ++passed_over_ < kTurnsToBackground) return false;
    passed_over_ = 0;
    return true;
  }

 private:
  int passed_over_ = 0;  // Turns since the last one of the background.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_BACKGROUND_TURNS_H_
