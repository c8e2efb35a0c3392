// store_pg: orders in PostgreSQL; its descriptor, options and factory.
#include "sluice/plugin.h"

#include "pg_dialect.h"

namespace {

using sluice::ErrorCode;
using sluice::kPluginAbi;
using sluice::kPluginMagic;
using sluice::OptionMap;
using sluice::OptionSpec;
using sluice::OptionType;
using sluice::OrderStore;
using sluice::PluginDescriptor;
using sluice::PluginKind;
using sluice::Result;
using sluice::StoreContext;

constexpr OptionSpec kOptions[] = {
    {"host", OptionType::Text, "127.0.0.1", "..255", false,
     "Name or address of the server, or the folder of its socket (begins with /)."},
    {"port", OptionType::Integer, "5432", "1..65535", false, "Port of the server; also names its socket."},
    {"dbname", OptionType::Text, "sluice", "..63", false,
     "The database; it must exist, be encoded in UTF8 and belong to Sluice alone (or its first schema "
     "must)."},
    {"user", OptionType::Text, "sluice", "..63", false,
     "The user; needs to create tables for migrating, else only to read and write them."},
    {"password", OptionType::Text, "", "..1024", true, "Password of that user; empty: none."},
    {"sslmode", OptionType::Choice, "prefer", "disable|allow|prefer|require|verify-ca|verify-full", false,
     "TLS, in the client library's words; over an open network only verify-full proves who answers."},
    {"sslrootcert", OptionType::Path, "", "..1024", false,
     "Certificates that sslmode verify-ca and verify-full trust; empty: the library's own place."},
    {"connect.timeout", OptionType::Duration, "5s", "2s..1m", false,
     "Longest time for opening a connection; whole seconds."},
    {"writers", OptionType::Integer, "4", "1..64", false,
     "Connections for transactions that change something, opened as needed; at least fulfilment.workers."},
    {"readers", OptionType::Integer, "4", "1..64", false, "Connections for reading, opened as needed."},
};

std::string connectString(const OptionMap& options) {
  std::string text = "application_name='sluice' keepalives_idle=30 keepalives_interval=10 keepalives_count=3";
  for (const char* key : {"host", "dbname", "user", "password", "sslmode", "sslrootcert"}) {
    if (!options.text(key).empty()) sluice::sql::addQuoted(text, key, options.text(key));
  }
  text += " port=" + std::to_string(options.integer("port"));
  text += " connect_timeout=" + std::to_string(options.duration("connect.timeout").count() / 1000);
  return text;
}

Result<std::unique_ptr<OrderStore>> makeStore(const StoreContext& context) noexcept {
  try {
    sluice::pg::PgOptions options;
    options.connect = connectString(context.options);
    options.pools = sluice::sql::poolsOf(context.options);
    return sluice::sql::makeStore(std::make_unique<sluice::pg::PgDialect>(std::move(options)), context);
  } catch (const std::exception& error) {
    return {ErrorCode::Internal, std::string("store_pg: ") + error.what()};
  }
}

constexpr PluginDescriptor kDescriptor = {
    .magic = kPluginMagic,
    .abi = kPluginAbi,
    .kind = PluginKind::Store,
    .buildTag = SLUICE_BUILD_TAG,
    .name = "pg",
    .version = SLUICE_VERSION,
    .summary = "PostgreSQL; many workers and machines on one database",
    .options = std::data(kOptions),
    .optionCount = std::size(kOptions),
    .makeQueue = nullptr,
    .makeStore = makeStore,
};

}  // namespace

SLUICE_PLUGIN(kDescriptor)
