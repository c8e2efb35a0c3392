// store_sqlite: the embedded default store; its descriptor, options and factory.
#include "sluice/plugin.h"

#include <filesystem>

#include "sql_store.h"
#include "sqlite_dialect.h"

namespace {

using sluice::ErrorCode;
using sluice::kPluginAbi;
using sluice::kPluginMagic;
using sluice::OptionSpec;
using sluice::OptionType;
using sluice::OrderStore;
using sluice::PluginDescriptor;
using sluice::PluginKind;
using sluice::Result;
using sluice::StoreContext;

constexpr OptionSpec kOptions[] = {
    {"path", OptionType::Text, "sluice.db", "..1024", false,
     "The database file; relative to data.dir. Not on a network file system: its locks cannot be trusted "
     "there."},
    {"synchronous", OptionType::Choice, "full", "full|normal", false,
     "full: a commit is on disk when it is answered. normal: faster, and a power cut may take the last "
     "commits (never a crash of "
     "the program)."},
    {"busy", OptionType::Duration, "5s", "1ms..1m", false,
     "Longest wait for another process that writes to the file; a call's own deadline ends it sooner."},
    {"readers", OptionType::Integer, "4", "1..16", false,
     "Sessions for reading, opened as needed; each costs a file descriptor or two and up to 2 MiB."},
};

sluice::sqlite::SqliteOptions optionsOf(const StoreContext& context) {
  sluice::sqlite::SqliteOptions options;
  options.path =
      (std::filesystem::path(context.dataDir) / context.options.text("path")).lexically_normal().string();
  options.synchronousFull = context.options.text("synchronous") == "full";
  options.busy = context.options.duration("busy");
  options.readers = static_cast<std::size_t>(context.options.integer("readers"));
  return options;
}

Result<std::unique_ptr<OrderStore>> makeStore(const StoreContext& context) noexcept {
  try {
    const sluice::sqlite::SqliteOptions options = optionsOf(context);
    // SOCI reads the path from a connect string in double quotes and knows no escape.
    if (options.path.find('"') != std::string::npos ||
        std::filesystem::path(options.path).filename().empty()) {
      return {ErrorCode::Misconfigured,
              "store.sqlite.path must name a file, without double quotes: " + options.path};
    }
    return Result<std::unique_ptr<OrderStore>>(
        std::make_unique<sluice::sql::SqlStore>(std::make_unique<sluice::sqlite::SqliteDialect>(options),
                                                context.log, context.clock, context.random));
  } catch (const std::exception& error) {
    return {ErrorCode::Internal, std::string("store_sqlite: ") + error.what()};
  }
}

constexpr PluginDescriptor kDescriptor = {
    .magic = kPluginMagic,
    .abi = kPluginAbi,
    .kind = PluginKind::Store,
    .buildTag = SLUICE_BUILD_TAG,
    .name = "sqlite",
    .version = SLUICE_VERSION,
    .summary = "SQLite in one file of the data folder; needs no server, one writer at a time",
    .options = std::data(kOptions),
    .optionCount = std::size(kOptions),
    .makeQueue = nullptr,
    .makeStore = makeStore,
};

}  // namespace

SLUICE_PLUGIN(kDescriptor)
