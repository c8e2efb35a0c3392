// What the subcommands share: global options, exit codes, and the way from a configuration to an opened
// system.
//
// Role:     each subcommand is one file with one function that declares it to CLI11 and leaves what it does
//           in Invocation::run; main runs it after the whole command line was understood.
// Errors:   people read them on standard error as "sluice: ..."; the exit code says whose turn it is (see
//           Exit).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/config.h"
#include "sluice/result.h"
#include "sluice/system.h"

// The library's own name.
// NOLINTNEXTLINE(readability-identifier-naming): see above
namespace CLI {
class App;
}

namespace sluice::cli {

// The exit codes of every command.
enum Exit : int {
  ExitFine = 0,
  ExitNotFine = 1,  // understood and answered, and the answer is no: a violation, a refusal, not found
  ExitUsage = 2,    // the command line or the configuration is wrong
  ExitAway = 3      // a server (Redis, database, broker) does not answer
};

// How long a command waits for servers and for its work as a whole.
inline constexpr milliseconds kCommandDeadline{30000};

struct GlobalOptions {
  std::vector<std::string> files;  // -c
  std::vector<std::string> sets;   // --set, "key=value"
};

struct Invocation {
  GlobalOptions globals;
  std::function<int()> run;
};

// Each declares one subcommand.
void addServe(CLI::App& app, Invocation& invocation);
void addDemo(CLI::App& app, Invocation& invocation);
void addVoucher(CLI::App& app, Invocation& invocation);
void addOrders(CLI::App& app, Invocation& invocation);
void addDead(CLI::App& app, Invocation& invocation);
void addAudit(CLI::App& app, Invocation& invocation);
void addConfig(CLI::App& app, Invocation& invocation);
void addPlugins(CLI::App& app, Invocation& invocation);
void addStormClient(CLI::App& app, Invocation& invocation);  // not listed in the help

// The libraries and their versions, for --version.
[[nodiscard]] std::string versionText();

// "sluice: <text>" on standard error; answers `code`.
int complain(std::string_view text, int code);
// The same for an error, with the exit code that its error code means.
int complain(const Error& error);
[[nodiscard]] int exitCodeOf(ErrorCode code) noexcept;

// The layers that the global options name: the files of -c, or ./sluice.properties where it exists;
// environment; --set. InvalidArgument where a --set is no key=value.
[[nodiscard]] Result<ConfigSources> configSources(const GlobalOptions& globals);
// The checked configuration; every fault is printed, and nothing returned, where it has some.
[[nodiscard]] std::optional<Config> loadConfig(const GlobalOptions& globals);
// Loads the configuration, opens the system for a command and runs `work`; answers its exit code, or
// complains.
int withSystem(const GlobalOptions& globals,
               const std::function<int(System& system, const Config& config)>& work);

}  // namespace sluice::cli
