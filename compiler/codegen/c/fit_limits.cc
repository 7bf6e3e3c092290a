#include "compiler/codegen/c/fit_limits.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace edgekiln::compiler {
namespace {

constexpr size_t kOptions = 3;
constexpr std::array<CRecipe, kOptions> kRecipes = {
    CRecipe::kDefault, CRecipe::kSize, CRecipe::kPlain};
constexpr size_t kDefault = 0, kShared = 1, kPlain = 2;
// An estimate for one layer assumes that what layers have in common stays. The
// whole is measured as often, at most, until it fits.
constexpr int kMaxMeasurements = 12;

int64_t WithAllowance(int64_t code_bytes, int64_t percent) {
  return code_bytes + code_bytes * percent / 100;
}

// Code beside that of layers: helpers and what the compiler's library has.
int64_t CommonCode(const CManifest& manifest) {
  int64_t bytes = manifest.code_bytes;
  for (const CLayer& layer : manifest.layers) bytes -= layer.code_bytes;
  return bytes;
}

// A kernel that a layer could have.
struct Option {
  int64_t instructions = 0;
  int64_t flash_bytes = 0;
  int64_t ram_bytes = 0;
  bool allowed = true;  // Its RAM does not stand against it.
  bool is_shared = false;
};

using Choice = std::vector<size_t>;  // By layer, an index into kRecipes.

class Knapsack {
 public:
  Knapsack(absl::Span<const int> kinds, const Limits& limits, Measure measure)
      : kinds_(kinds), limits_(limits), measure_(measure) {}

  absl::Status Load() {
    const size_t layers = kinds_.size();
    for (size_t option = 0; option < kOptions; ++option) {
      EK_ASSIGN_OR_RETURN(needs_[option],
                          measure_(Recipes(layers, kRecipes[option])));
    }
    layers_.resize(layers);
    for (size_t i = 0; i < layers; ++i) LoadLayer(i);
    shared_code_ = std::max<int64_t>(CommonCode(needs_[kShared].manifest) -
                                         CommonCode(needs_[kPlain].manifest),
                                     0);
    return absl::OkStatus();
  }

  // Of the choices with and without shared kernels, the one with the fewest
  // instructions that keeps the flash's limit; else the smallest.
  absl::StatusOr<Fitting> Fit() {
    std::optional<Fitting> best;
    for (const bool shared : {false, true}) {
      EK_ASSIGN_OR_RETURN(Fitting fitting, FitWith(shared));
      if (!best.has_value() || IsBetter(fitting, *best)) {
        best = std::move(fitting);
      }
    }
    if (KeepsFlash(best->need)) return *std::move(best);
    return Smallest();
  }

  absl::StatusOr<Fitting> Smallest() {
    std::optional<Fitting> best;
    Choice choice;
    // All shared ones where they fit, which layers may as well be chosen for;
    // none of them; those that are smaller by themselves.
    for (const Choice& other :
         {All(kShared), SmallestOptions(false), SmallestOptions(true)}) {
      EK_RETURN_IF_ERROR(TakeIfSmaller(other, choice, best));
    }
    // A function that layers of one kind share may not be worth its code.
    for (const int kind : SharingKinds()) {
      for (const bool shared : {false, true}) {
        EK_RETURN_IF_ERROR(
            TakeIfSmaller(WithKind(choice, kind, shared), choice, best));
      }
    }
    return *std::move(best);
  }

 private:
  // Kinds with a layer that could share its function.
  std::set<int> SharingKinds() const {
    std::set<int> kinds;
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i][kShared].is_shared) kinds.insert(kinds_[i]);
    }
    return kinds;
  }

  void LoadLayer(size_t i) {
    bool any = false;
    int64_t least_ram = std::numeric_limits<int64_t>::max();
    const std::string& plain = needs_[kPlain].manifest.layers[i].kernel;
    for (size_t option = 0; option < kOptions; ++option) {
      const CLayer& layer = needs_[option].manifest.layers[i];
      Option& o = layers_[i][option];
      o.instructions = layer.predicted_instructions;
      o.flash_bytes =
          WithAllowance(layer.code_bytes, limits_.code_allowance_percent) +
          layer.constant_bytes;
      o.ram_bytes = needs_[option].layer_ram_bytes[i];
      o.is_shared = option == kShared && layer.kernel != plain;
      o.allowed = limits_.ram_bytes == 0 || o.ram_bytes <= limits_.ram_bytes;
      any = any || o.allowed;
      least_ram = std::min(least_ram, o.ram_bytes);
    }
    if (any) return;
    for (Option& o : layers_[i]) o.allowed = o.ram_bytes == least_ram;
  }

  // The allowed option that is first by `less`, of shared ones only if wanted.
  template <typename Less>
  size_t First(const std::array<Option, kOptions>& layer, bool shared,
               const Less& less) const {
    std::optional<size_t> first;
    for (size_t option = 0; option < kOptions; ++option) {
      const Option& o = layer[option];
      if (!o.allowed || (o.is_shared && !shared)) continue;
      if (!first.has_value() || less(o, layer[*first])) first = option;
    }
    // Only a shared one may have little enough RAM.
    return first.value_or(kShared);
  }

  Choice All(size_t option) const {
    Choice choice;
    for (const auto& layer : layers_) {
      choice.push_back(layer[option].allowed ? option
                                             : First(layer, true, FewerBytes));
    }
    return choice;
  }

  Choice SmallestOptions(bool shared) const {
    Choice choice;
    for (const auto& layer : layers_) {
      choice.push_back(First(layer, shared, FewerBytes));
    }
    return choice;
  }

  // With the smallest kernels for all layers of that kind.
  Choice WithKind(Choice choice, int kind, bool shared) const {
    for (size_t i = 0; i < choice.size(); ++i) {
      if (kinds_[i] != kind) continue;
      choice[i] = shared && layers_[i][kShared].allowed
                      ? kShared
                      : First(layers_[i], shared, FewerBytes);
    }
    return choice;
  }

  absl::Status TakeIfSmaller(const Choice& other, Choice& choice,
                             std::optional<Fitting>& best) const {
    if (best.has_value() && other == choice) return absl::OkStatus();
    EK_ASSIGN_OR_RETURN(Fitting fitting, Measured(other));
    if (!best.has_value() || IsSmaller(fitting.need, best->need)) {
      best = std::move(fitting);
      choice = other;
    }
    return absl::OkStatus();
  }

  static bool FewerBytes(const Option& a, const Option& b) {
    return std::pair(a.flash_bytes, a.instructions) <
           std::pair(b.flash_bytes, b.instructions);
  }
  static bool FewerInstructions(const Option& a, const Option& b) {
    return std::pair(a.instructions, a.flash_bytes) <
           std::pair(b.instructions, b.flash_bytes);
  }

  absl::StatusOr<Fitting> Measured(const Choice& choice) const {
    Fitting fitting;
    for (const size_t option : choice) {
      fitting.recipes.push_back(kRecipes[option]);
    }
    EK_ASSIGN_OR_RETURN(fitting.need, measure_(fitting.recipes));
    return fitting;
  }

  int64_t Flash(const NetworkNeed& need) const {
    return FlashOf(need.manifest, limits_.code_allowance_percent);
  }
  bool KeepsFlash(const NetworkNeed& need) const {
    return limits_.flash_bytes == 0 || Flash(need) <= limits_.flash_bytes;
  }
  bool KeepsRam(const NetworkNeed& need) const {
    return limits_.ram_bytes == 0 ||
           need.manifest.arena_bytes <= limits_.ram_bytes;
  }
  static int64_t Instructions(const NetworkNeed& need) {
    int64_t instructions = 0;
    for (const CLayer& layer : need.manifest.layers) {
      instructions += layer.predicted_instructions;
    }
    return instructions;
  }
  bool IsBetter(const Fitting& a, const Fitting& b) const {
    const auto rank = [this](const NetworkNeed& need) {
      return std::tuple(!KeepsRam(need), !KeepsFlash(need), Instructions(need),
                        Flash(need));
    };
    return rank(a.need) < rank(b.need);
  }
  bool IsSmaller(const NetworkNeed& a, const NetworkNeed& b) const {
    return std::pair(!KeepsRam(a), Flash(a)) <
           std::pair(!KeepsRam(b), Flash(b));
  }

  absl::StatusOr<Fitting> FitWith(bool shared) const {
    Choice choice;
    for (const auto& layer : layers_) {
      choice.push_back(First(layer, shared, FewerInstructions));
    }
    EK_ASSIGN_OR_RETURN(Fitting fitting, Measured(choice));
    const Choice fastest = choice;
    for (int i = 0; i < kMaxMeasurements && !KeepsFlash(fitting.need); ++i) {
      int64_t excess = Flash(fitting.need) - limits_.flash_bytes;
      if (i == 0 && shared) excess += shared_code_;
      if (!Shrink(shared, excess, choice)) break;
      EK_ASSIGN_OR_RETURN(fitting, Measured(choice));
    }
    if (!KeepsFlash(fitting.need)) return fitting;
    Grow(fastest, limits_.flash_bytes - Flash(fitting.need), choice);
    EK_ASSIGN_OR_RETURN(Fitting grown, Measured(choice));
    return KeepsFlash(grown.need) ? std::move(grown) : std::move(fitting);
  }

  // Makes layers smaller by `excess` bytes in all, those first that lose the
  // fewest instructions per byte. False if none could be.
  bool Shrink(bool shared, int64_t excess, Choice& choice) const {
    bool shrunk = false;
    while (excess > 0) {
      std::optional<std::pair<size_t, size_t>> best;
      double best_loss = 0;
      for (size_t i = 0; i < choice.size(); ++i) {
        const Option& now = layers_[i][choice[i]];
        for (size_t option = 0; option < kOptions; ++option) {
          const Option& o = layers_[i][option];
          const int64_t saved = now.flash_bytes - o.flash_bytes;
          if (!o.allowed || (o.is_shared && !shared) || saved <= 0) continue;
          const double loss =
              static_cast<double>(o.instructions - now.instructions) /
              static_cast<double>(saved);
          if (best.has_value() && loss >= best_loss) continue;
          best = {i, option};
          best_loss = loss;
        }
      }
      if (!best.has_value()) break;
      const auto [layer, option] = *best;
      excess -= layers_[layer][choice[layer]].flash_bytes -
                layers_[layer][option].flash_bytes;
      choice[layer] = option;
      shrunk = true;
    }
    return shrunk;
  }

  // Takes fastest kernels back where `room` bytes suffice, those first that
  // gain most.
  void Grow(const Choice& fastest, int64_t room, Choice& choice) const {
    std::vector<size_t> order;
    for (size_t i = 0; i < choice.size(); ++i) {
      if (choice[i] != fastest[i]) order.push_back(i);
    }
    const auto gain = [&](size_t i) {
      return layers_[i][choice[i]].instructions -
             layers_[i][fastest[i]].instructions;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return gain(a) > gain(b); });
    for (const size_t i : order) {
      const int64_t bytes = layers_[i][fastest[i]].flash_bytes -
                            layers_[i][choice[i]].flash_bytes;
      if (gain(i) <= 0 || bytes > room) continue;
      room -= bytes;
      choice[i] = fastest[i];
    }
  }

  const absl::Span<const int> kinds_;
  const Limits limits_;
  const Measure measure_;
  std::array<NetworkNeed, kOptions> needs_;
  std::vector<std::array<Option, kOptions>> layers_;
  int64_t shared_code_ = 0;
};

}  // namespace

int64_t FlashOf(const CManifest& manifest, int64_t code_allowance_percent) {
  return manifest.constant_bytes +
         WithAllowance(manifest.code_bytes, code_allowance_percent);
}

absl::StatusOr<Fitting> FitLimits(absl::Span<const int> kinds,
                                  const Limits& limits, Measure measure) {
  Knapsack knapsack(kinds, limits, measure);
  EK_RETURN_IF_ERROR(knapsack.Load());
  return knapsack.Fit();
}

absl::StatusOr<Fitting> Smallest(absl::Span<const int> kinds,
                                 const Limits& limits, Measure measure) {
  Knapsack knapsack(kinds, limits, measure);
  EK_RETURN_IF_ERROR(knapsack.Load());
  return knapsack.Smallest();
}

}  // namespace edgekiln::compiler
