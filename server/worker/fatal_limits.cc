#include "server/worker/fatal_limits.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>

namespace edgekiln::server {
namespace {

// Handlers find these here: neither kind takes arguments.
int memory_exit_code = 0;
int stack_exit_code = 0;

// Enough for the handler, which calls next to nothing.
constexpr size_t kHandlerStackBytes = 16 << 10;
alignas(16) char handler_stack[kHandlerStackBytes];

[[noreturn]] void OnTerminate() {
  if (const std::exception_ptr why = std::current_exception()) {
    try {
      std::rethrow_exception(why);
    } catch (const std::bad_alloc&) {
      _exit(memory_exit_code);
    } catch (const std::length_error&) {
      _exit(memory_exit_code);
    } catch (...) {
    }
  }
  std::abort();
}

// A fault just below or within the frame being set up, where the stack no
// longer grows. Elsewhere near the stack pointer memory is mapped, so that
// other faults are far from it.
bool IsOverflow(const siginfo_t& info, const ucontext_t& context) {
  constexpr intptr_t kBelow = 64 << 10;
  constexpr intptr_t kAbove = 1 << 20;
  const auto pointer =
      static_cast<intptr_t>(context.uc_mcontext.gregs[REG_RSP]);
  const intptr_t distance = reinterpret_cast<intptr_t>(info.si_addr) - pointer;
  return distance >= -kBelow && distance < kAbove;
}

void OnFault(int number, siginfo_t* info, void* context) {
  if (info->si_code > 0 &&  // By the kernel, not by kill().
      IsOverflow(*info, *static_cast<const ucontext_t*>(context))) {
    _exit(stack_exit_code);
  }
  // Faults again on return, or is raised again, without a handler.
  signal(number, SIG_DFL);
  if (info->si_code <= 0) raise(number);
}

}  // namespace

void ExitAtFatalLimits(int memory_exit, int stack_exit) {
  memory_exit_code = memory_exit;
  stack_exit_code = stack_exit;
  std::set_terminate(OnTerminate);
  stack_t stack = {};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof(handler_stack);
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace edgekiln::server
