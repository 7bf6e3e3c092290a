#ifndef EK_CLIENT_CHECK_CELL_NAMES_H_
#define EK_CLIENT_CHECK_CELL_NAMES_H_

// What the cells of a project are called, and the files of their baselines.
// Pure: the same cells give the same names on every machine.

#include <string>
#include <vector>

#include "edgekiln/v1/project.pb.h"
#include "edgekiln/v1/sweep_row.pb.h"

namespace edgekiln::client {

// What all files of baselines end with.
inline constexpr char kBaselineSuffix[] = ".baseline.json";

struct CellNames {
  // "resnet8 on dla-64-o-512k, recipe serial, pes=32"; with the group in front
  // if that has a name: "tight: resnet8 on ..". Unique within the project.
  std::string name;
  // "resnet8@dla-64-o-512k+serial+pes=32.baseline.json": letters that every
  // file system takes. Where that is not the whole name, or another cell would
  // have the same, the first digits of its SHA-256 follow.
  std::string file;
};

// By row. Rows of the same name, which groups without a name of their own can
// have, are told apart by the number of their group.
std::vector<CellNames> NameCells(const std::vector<v1::SweepRow>& rows,
                                 const v1::Project& project);

// Whether NameCells() could have made it. A file of that name may be removed;
// the name has no folder in it.
bool IsBaselineName(const std::string& name);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_CELL_NAMES_H_
