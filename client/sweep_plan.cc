#include "client/sweep_plan.h"

#include <algorithm>

namespace edgekiln::client {
namespace {

template <typename List>
bool Has(const List& list, int index) {
  return index >= 0 && index < list.size();
}

}  // namespace

v1::SweepRow RowOfPlan(const v1::SweepRequest& request,
                       const v1::SweepPlan& plan, int cell) {
  v1::SweepRow row;
  row.set_cell(cell);
  const v1::SweepPlan::Cell& planned = plan.cells(cell);
  row.set_group(planned.group());
  row.set_recipe(planned.recipe());
  if (Has(plan.targets(), planned.target())) {
    row.set_target(plan.targets(planned.target()));
  }
  if (Has(request.groups(), planned.group())) {
    const v1::SweepGroup& group = request.groups(planned.group());
    if (Has(group.models(), planned.model())) {
      row.set_model(group.models(planned.model()).name());
    }
    for (int i = 0; i < std::min(group.vary_size(), planned.values_size());
         ++i) {
      if (!Has(group.vary(i).values(), planned.values(i))) continue;
      v1::SweepRow::Value& value = *row.add_values();
      value.set_key(group.vary(i).key());
      value.set_value(group.vary(i).values(planned.values(i)));
      value.set_dropped(std::find(planned.dropped().begin(),
                                  planned.dropped().end(),
                                  i) != planned.dropped().end());
    }
  }
  if (planned.state() == v1::SweepPlan::REFUSED) {
    row.set_state(v1::SweepRow::REFUSED);
    *row.mutable_error() = planned.error();
  } else if (planned.state() == v1::SweepPlan::MERGED) {
    row.set_state(v1::SweepRow::MERGED);
    row.set_same_as(planned.same_as());
  }
  return row;
}

}  // namespace edgekiln::client
