// store_mysql: orders in MySQL or MariaDB; its descriptor, options and factory.
#include "sluice/plugin.h"

#include "mysql_dialect.h"

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
    {"host", OptionType::Text, "127.0.0.1", "..255", false, "Name or address of the server."},
    {"port", OptionType::Integer, "3306", "1..65535", false, "Port of the server."},
    {"socket", OptionType::Path, "", "..107", false,
     "The server's socket; replaces host and port, and is faster on the same machine."},
    {"dbname", OptionType::Text, "sluice", "..64", false,
     "The database; it must exist and belong to Sluice alone."},
    {"user", OptionType::Text, "sluice", "..80", false,
     "The user; needs to create tables for migrating, else only to read and write them."},
    {"password", OptionType::Text, "", "..1024", true, "Password of that user; empty: none."},
    {"sslca", OptionType::Path, "", "..1024", false,
     "Certificates to trust; switches TLS on. The client library of Debian 12 does not check the server's "
     "name: over an open network use a tunnel."},
    {"sslcert", OptionType::Path, "", "..1024", false, "Our own certificate, where the server wants one."},
    {"sslkey", OptionType::Path, "", "..1024", false, "Its key."},
    {"connect.timeout", OptionType::Duration, "5s", "1s..1m", false,
     "Longest time for opening a connection; whole seconds."},
    {"writers", OptionType::Integer, "4", "1..64", false,
     "Connections for transactions that change something, opened as needed; at least fulfilment.workers."},
    {"readers", OptionType::Integer, "4", "1..64", false, "Connections for reading, opened as needed."},
};

std::string connectString(const OptionMap& options) {
  // Never SOCI's reconnect: the library would connect again within a transaction and say nothing.
  std::string text = "charset='utf8mb4'";
  for (const char* key : {"dbname", "user", "password", "sslca", "sslcert", "sslkey"}) {
    if (!options.text(key).empty()) sluice::sql::addQuoted(text, key, options.text(key));
  }
  if (const std::string& socket = options.text("socket"); !socket.empty()) {
    sluice::sql::addQuoted(text, "unix_socket", socket);
  } else {
    sluice::sql::addQuoted(text, "host", options.text("host"));
    text += " port=" + std::to_string(options.integer("port"));
  }
  return text;
}

Result<std::unique_ptr<OrderStore>> makeStore(const StoreContext& context) noexcept {
  try {
    if (context.options.text("host") == "localhost" && context.options.text("socket").empty()) {
      return {
          ErrorCode::Misconfigured,
          "store.mysql.host = localhost: the client library takes that for a socket in a place of its own; "
          "set store.mysql.socket, or host = 127.0.0.1"};
    }
    sluice::mysql::MysqlOptions options;
    options.connect = connectString(context.options);
    options.connectTimeout = context.options.duration("connect.timeout");
    options.dbname = context.options.text("dbname");
    options.pools = sluice::sql::poolsOf(context.options);
    return sluice::sql::makeStore(std::make_unique<sluice::mysql::MysqlDialect>(std::move(options)), context);
  } catch (const std::exception& error) {
    return {ErrorCode::Internal, std::string("store_mysql: ") + error.what()};
  }
}

constexpr PluginDescriptor kDescriptor = {
    .magic = kPluginMagic,
    .abi = kPluginAbi,
    .kind = PluginKind::Store,
    .buildTag = SLUICE_BUILD_TAG,
    .name = "mysql",
    .version = SLUICE_VERSION,
    .summary = "MySQL 8 or MariaDB 10.11 (tested on MariaDB); many workers and machines on one database",
    .options = std::data(kOptions),
    .optionCount = std::size(kOptions),
    .makeQueue = nullptr,
    .makeStore = makeStore,
};

}  // namespace

SLUICE_PLUGIN(kDescriptor)
