# Who may see whom. Reading this table is reading the architecture; it is read
# by the configure-time check below and by tools/check_includes.py.
#
# A file or target belongs to the row with the longest matching folder; `*`
# stands for one folder name. Each folder that matches a `*` row is a layer of
# its own: compiler/engines/dla and compiler/engines/vta never see each other.
# A row names the rows its layer may see besides itself; `**` means all.
# Test sources (*_test.cc, *_fuzz.cc, TESTONLY targets) may see tests/support on
# top of their row.
set(EK_LAYERS
  "base                 -> "
  "proto                -> "
  "ops                  -> base proto"
  "target               -> base proto"
  "cache                -> base proto"
  "client               -> base proto"
  "compiler             -> base proto ops target compiler/engines/*"
  "compiler/engines/*   -> base proto ops target compiler"
  "simfarm              -> base proto target simfarm/simulators/* simfarm/host simfarm/session"
  "simfarm/simulators/* -> base proto target simfarm"
  "simfarm/host         -> base proto ops target simfarm"
  "simfarm/session      -> base proto ops target simfarm simfarm/simulators/* simfarm/host"
  "server               -> base proto ops target cache compiler compiler/engines/* simfarm simfarm/simulators/* simfarm/host simfarm/session server/daemon"
  "server/daemon        -> base proto target cache server"
  "tests                -> **"
  "tests/support        -> base proto"
)

# What a layer must not reach even through others. `*` as above, `/**` is the
# folder with everything below it.
set(EK_NEVER_REACHES
  "simfarm/simulators/* -> ops compiler/**"
  "simfarm/**           -> compiler/**"
  "compiler/**          -> simfarm/**"
  "server/daemon        -> compiler/** simfarm/**"
  "client               -> ops target cache compiler/** simfarm/** server/**"
)

function(edgekiln_check_layers dir)
endfunction()
