#include "compiler/engines/dla/overlapped_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/engines/dla/chain.h"
#include "compiler/engines/dla/chain_search.h"
#include "compiler/engines/dla/layer_search.h"
#include "compiler/engines/dla/read_once.h"
#include "compiler/engines/dla/residency.h"
#include "compiler/engines/dla/retiling.h"

namespace edgekiln::compiler::dla {
namespace {

// Sizes of SRAM that are tried, from the largest that fits on.
constexpr int kSizes = 8;
// After this many commands were scheduled no other size is tried, and after as
// many again no other chains: the plan is for an SRAM so small that one takes
// long.
constexpr int64_t kEnoughCommands = 150'000;
// Plans take less than their estimate by one part of this many at most.
constexpr int64_t kEstimateError = 1000;
// After so many, chains are tried for one size only, and no other chip's plan
// unless this one is far from the bound.
constexpr int64_t kFewCommands = 40'000;
// Plans with chains are made for a smaller SRAM, by one part of this many: they
// have buffers that live long, between which others need to find places.
constexpr int64_t kChainSlack = 16;
// A chain that loses more than one part of this many of its layers' cycles is
// avoided.
constexpr int64_t kLargeLoss = 256;
// Chains are tried so often for one size.
constexpr int kChainTrials = 4;
// Plans that exceed the bound by less than one part of this many are good.
constexpr int64_t kNearBound = 200;
// The same of plans that take long to time.
constexpr int64_t kNearForLong = 300;

// Finds the fastest plan for a few sizes of SRAM, the chip's and below: more of
// it makes tilings cheaper by their estimate, and now and then dearer in fact.
class OverlappedSearch {
 public:
  OverlappedSearch(const Chip& chip, const SubgraphInput& input,
                   std::vector<TilingSearch>& searches, const Bound& bound,
                   bool may_chain)
      : chip_(chip),
        input_(input),
        searches_(searches),
        bound_cycles_(bound.cycles),
        may_chain_(may_chain),
        chains_(chip, input, bound.layers) {}

  // Nothing if no plan fits.
  absl::StatusOr<std::optional<TimedPlan>> Run() && {
    EK_RETURN_IF_ERROR(RunFor(chip_.sram_bytes()));
    if (best_ && may_chain_) EK_RETURN_IF_ERROR(RunForSmaller());
    // Of one layer alone the best plan is looked for by itself.
    if (best_ && !searches_.empty() && !OnlyLayer(input_)) {
      EK_ASSIGN_OR_RETURN(best_,
                          Retile(chip_, input_, searches_.front().cuts(),
                                 *std::move(best_), bound_cycles_, scratch_));
      EK_ASSIGN_OR_RETURN(best_,
                          ReadOnce(chip_, input_, searches_.front().cuts(),
                                   *std::move(best_), scratch_));
    }
    return std::move(best_);
  }

 private:
  // A plan without chains, as those with chains are compared with it.
  struct Unchained {
    explicit Unchained(const TimedPlan& plan)
        : sram_bytes(plan.sram_bytes),
          cycles(plan.cycles),
          layer_cycles(plan.layer_cycles),
          fenced(plan.plan.fenced) {}
    int64_t sram_bytes;
    int64_t cycles;
    std::vector<int64_t> layer_cycles;
    bool fenced;
  };

  // What a chip with the next smaller of the coarse sizes would have, if that
  // may have chains: so a plan takes no more cycles than there. Than on smaller
  // chips it may, as they compare with sizes of their own. Without chains the
  // sizes that are tried anyway do that. Skipped for plans that take long to
  // time unless they are far from the bound.
  absl::Status RunForSmaller() {
    if (commands_ > kEnoughCommands ||
        (commands_ > kFewCommands && !IsFarForLong(*best_))) {
      return absl::OkStatus();
    }
    const int64_t smaller = SizesForChains(chip_.sram_bytes()).back();
    bool may_chain = false;
    for (const int64_t size : SizesForChains(smaller)) {
      chains_.SetSize(size);
      may_chain = may_chain || chains_.MayChain();
    }
    if (!may_chain) return absl::OkStatus();
    std::optional<TimedPlan> larger = std::exchange(best_, std::nullopt);
    before_ = {};
    commands_ = 0;
    tried_ = 0;
    estimate_ = {};
    EK_RETURN_IF_ERROR(RunFor(smaller));
    if (!best_ || IsBetter(*larger, *best_)) best_ = std::move(larger);
    return absl::OkStatus();
  }

  bool IsFarForLong(const TimedPlan& plan) const {
    return plan.cycles - plan.cycles / kNearForLong > bound_cycles_;
  }

  // Leaves the plan in `best_`: nothing if none fits.
  absl::Status RunFor(int64_t sram_bytes) {
    std::optional<ResidencyChoice> choice;
    for (int64_t size = RoundSize(sram_bytes);
         size > 0 && (tried_ < kSizes || !best_) && commands_ < kEnoughCommands;
         size = RoundSize(size - 1)) {
      // Where it holds the choice for the size before, that is the best.
      if (!choice || !choice->proven || size < choice->sram_bytes) {
        EK_ASSIGN_OR_RETURN(choice, ChooseResidency(input_, searches_, size));
      }
      if (!choice) break;  // Nor do less.
      if (best_ &&
          choice->cycles - choice->cycles / kEstimateError > best_->cycles) {
        break;
      }
      EK_RETURN_IF_ERROR(Try(choice->plan, size));
      if (tried_++ > 0 || !best_) continue;
      // Between layers that compute for long, blocks move for nothing.
      EK_RETURN_IF_ERROR(TryEstimate({.early_blocks = true}, size));
    }
    choice.reset();  // Plans of many layers take memory.
    if (!best_) return absl::OkStatus();
    // One size took that many.
    const bool is_long = tried_ < 2 && commands_ >= kEnoughCommands;
    const Unchained without(*best_);
    if (may_chain_) EK_RETURN_IF_ERROR(TryChains(sram_bytes, without));
    return TrySmallTiles(sram_bytes, without, may_chain_ && !is_long);
  }

  // The same by the estimate that small tiles take longer, for one size.
  // `without`: the best plan without chains by the other one.
  absl::Status TrySmallTiles(int64_t sram_bytes, const Unchained& without,
                             bool may_chain) {
    // Of short plans tilings are looked for one by one.
    if (IsNear(*best_) || ComputeCommands(best_->plan) <= kShortPlan) {
      return absl::OkStatus();
    }
    // Does not count against the commands of later searches.
    const int64_t commands = commands_;
    estimate_.small_tiles = true;
    const int64_t size = RoundSize(sram_bytes);
    EK_ASSIGN_OR_RETURN(std::optional<ResidencyChoice> choice,
                        ChooseResidency(input_, searches_, size, estimate_));
    if (!choice) return absl::OkStatus();
    EK_ASSIGN_OR_RETURN(std::optional<TimedPlan> timed,
                        TimeUnlessTried(choice->plan, size));
    choice.reset();
    if (timed) {
      const Unchained found(*timed);
      if (IsBetter(*timed, *best_)) best_ = std::move(timed);
      timed.reset();
      if (may_chain && found.cycles < without.cycles) {
        EK_RETURN_IF_ERROR(TryChains(sram_bytes, found));
      }
    }
    commands_ = commands;
    return absl::OkStatus();
  }

  bool IsNear(const TimedPlan& plan) const {
    return plan.cycles - plan.cycles / kNearBound <= bound_cycles_;
  }

  // The choice for another estimate, which is taken over if it is better.
  absl::Status TryEstimate(const Estimate& estimate, int64_t size) {
    if (IsNear(*best_)) return absl::OkStatus();
    EK_ASSIGN_OR_RETURN(const std::optional<ResidencyChoice> choice,
                        ChooseResidency(input_, searches_, size, estimate));
    if (!choice) return absl::OkStatus();
    const int64_t before = best_->cycles;
    EK_RETURN_IF_ERROR(Try(choice->plan, size));
    if (best_->cycles < before) estimate_ = estimate;
    return absl::OkStatus();
  }

  absl::Status Try(const SubgraphPlan& plan, int64_t size) {
    EK_ASSIGN_OR_RETURN(std::optional<TimedPlan> timed,
                        TimeUnlessTried(plan, size));
    if (timed && (!best_ || IsBetter(*timed, *best_))) {
      best_ = std::move(timed);
    }
    return absl::OkStatus();
  }

  // Nothing for the plan that was timed last, or if it fits in no way.
  absl::StatusOr<std::optional<TimedPlan>> TimeUnlessTried(
      const SubgraphPlan& plan, int64_t size) {
    if (best_ && plan.tilings == before_.tilings &&
        plan.resident == before_.resident) {
      return std::optional<TimedPlan>();
    }
    before_ = plan;
    return RunAhead(chip_, input_.storage, plan, size, scratch_, commands_);
  }

  // Plans with chains, for a few sizes.
  absl::Status TryChains(int64_t sram_bytes, const Unchained& without) {
    const int64_t most = commands_ + kFewCommands;
    const int64_t enough = commands_ + kEnoughCommands;
    const std::vector<int64_t> sizes = SizesForChains(sram_bytes);
    for (const int64_t size : sizes) {
      if (commands_ > most && size != sizes.back()) continue;
      chains_.SetSize(size);
      if (!chains_.MayChain()) continue;
      const int64_t few = commands_ + kFewCommands;
      EK_RETURN_IF_ERROR(
          TryChainsOf(size, without,
                      size == sizes.back() ? std::max(enough, few) : enough));
    }
    return absl::OkStatus();
  }

  // Until no chain loses, each time without those that do, or `enough` commands
  // were scheduled.
  absl::Status TryChainsOf(int64_t size, const Unchained& without,
                           int64_t enough) {
    int64_t others = std::min(size, without.sram_bytes);
    int64_t chain_bytes = RoundSize(size - size / kChainSlack);
    for (int i = 0; i < kChainTrials && commands_ < enough; ++i) {
      EK_ASSIGN_OR_RETURN(const std::optional<ResidencyChoice> choice,
                          ChooseChains(input_, searches_, chains_, others,
                                       chain_bytes, estimate_));
      if (!choice || choice->plan.chains.empty()) return absl::OkStatus();
      EK_ASSIGN_OR_RETURN(std::optional<TimedPlan> timed,
                          RunAhead(chip_, input_.storage, choice->plan, size,
                                   scratch_, commands_));
      const bool found_room = timed && (!timed->plan.fenced || without.fenced);
      if (!found_room) {
        if (others <= chain_bytes) {
          chain_bytes = RoundSize(chain_bytes - size / kChainSlack);
        }
        others = chain_bytes;
      } else if (!AvoidLosses(*timed, without)) {
        i = kChainTrials;
      }
      if (timed && IsBetter(*timed, *best_)) best_ = std::move(timed);
    }
    return absl::OkStatus();
  }

  // The chains that lose a large part of their layers' cycles, and, while these
  // do not explain why `timed` has more than the best, those that lose the
  // most. False if there are none.
  bool AvoidLosses(const TimedPlan& timed, const Unchained& without) {
    struct Loss {
      int64_t cycles;
      bool is_large;
      Chain chain;
    };
    std::vector<Loss> losses;
    for (const Chain& chain : timed.plan.chains) {
      int64_t before = 0;
      int64_t after = 0;
      for (int32_t l = chain.first; l <= chain.last; ++l) {
        before += without.layer_cycles[l];
        after += timed.layer_cycles[l];
      }
      losses.push_back(
          {after - before, after - before > before / kLargeLoss, chain});
    }
    std::stable_sort(
        losses.begin(), losses.end(),
        [](const Loss& a, const Loss& b) { return a.cycles > b.cycles; });
    int64_t excess = timed.cycles - without.cycles;
    bool avoided = false;
    for (const Loss& loss : losses) {
      if (!loss.is_large && (excess <= 0 || loss.cycles <= 0)) continue;
      chains_.Avoid(loss.chain);
      avoided = true;
      excess -= loss.cycles;
    }
    return avoided;
  }

  const Chip& chip_;
  const SubgraphInput& input_;
  std::vector<TilingSearch>& searches_;
  const int64_t bound_cycles_;
  const bool may_chain_;
  ChainSearch chains_;
  std::optional<TimedPlan> best_;
  SubgraphPlan before_;
  Schedule scratch_;
  int64_t commands_ = 0;
  int tried_ = 0;
  Estimate estimate_;  // By which the best plan without chains was found.
};

}  // namespace

absl::StatusOr<std::optional<TimedPlan>> FindOverlapped(
    const Chip& chip, const SubgraphInput& input,
    std::vector<TilingSearch>& searches, const Bound& bound, bool may_chain) {
  return OverlappedSearch(chip, input, searches, bound, may_chain).Run();
}

}  // namespace edgekiln::compiler::dla
