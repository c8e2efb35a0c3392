// sluice voucher: creates vouchers, brings them into Redis, changes and closes them.
#include <cstdio>
#include <fstream>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/json_list.h"
#include "cli/text.h"
#include "server/utc_text.h"

namespace sluice::cli {
namespace {

// What the command line says; texts that are empty and numbers that are not given leave a setting alone.
struct Given {
  std::string id;
  std::string title;
  std::optional<std::int64_t> stock;
  std::optional<std::int32_t> limit;
  std::string begin;
  std::string end;
  std::string state;
  std::string eligibleFile;
  bool load = false;
};

using Work = std::function<int(Vouchers& vouchers, Deadline deadline)>;

int withVouchers(const GlobalOptions& globals, const Work& work) {
  return withSystem(globals, [&work](System& system, const Config&) {
    Vouchers vouchers(system.parts());
    return work(vouchers, Deadline::in(kCommandDeadline));
  });
}

Result<VoucherId> readId(const std::string& text) {
  const auto id = parseId<VoucherId>(text);
  if (!id) {
    return {ErrorCode::InvalidArgument,
            "'" + text + "' is not a voucher id; ids are whole numbers from 1 up"};
  }
  return *id;
}

// One user id a line; empty lines and lines that begin with # are passed over.
Result<std::vector<UserId>> readUsers(const std::string& path) {
  std::ifstream file(path);
  std::vector<UserId> users;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') {
      line.pop_back();
    }
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const auto user = parseId<UserId>(line);
    if (!user) {
      return {ErrorCode::InvalidArgument,
              path + ", line " + std::to_string(number) +
                  ": not a user id; write one whole number from 1 up in each line"};
    }
    users.push_back(*user);
  }
  if (file.bad() || users.empty()) {
    return {ErrorCode::InvalidArgument, path + ": no user ids could be read; write one in each line"};
  }
  return users;
}

Status applyInstant(const std::string& text, const char* option, UtcTime now, UtcTime& target) {
  if (text.empty()) {
    return {};
  }
  const Result<UtcTime> instant = parseInstant(text, now);
  if (!instant) {
    return instant.error().during(option);
  }
  target = instant.value();
  return {};
}

// The settings with what was given put over them, checked as a whole.
Result<VoucherSettings> apply(const Given& given, VoucherSettings settings, UtcTime now) {
  settings.title = given.title.empty() ? settings.title : given.title;
  settings.allocated = given.stock.value_or(settings.allocated);
  settings.limitPerUser = given.limit.value_or(settings.limitPerUser);
  settings.state =
      given.state.empty() ? settings.state : parseVoucherState(given.state).value_or(settings.state);
  settings.eligibleOnly = settings.eligibleOnly || !given.eligibleFile.empty();
  if (Status begin = applyInstant(given.begin, "--begin", now, settings.begin); !begin) {
    return begin.error();
  }
  if (Status end = applyInstant(given.end, "--end", now, settings.end); !end) {
    return end.error();
  }
  if (const auto fault = faultOf(settings)) {
    return {ErrorCode::InvalidArgument, *fault};
  }
  return settings;
}

Status addEligible(Vouchers& vouchers, VoucherId id, const std::vector<UserId>& users, Deadline deadline) {
  const std::span<const UserId> all(users);
  for (std::size_t at = 0; at < all.size(); at += limits::kPageMax) {
    const auto page = all.subspan(at, std::min(limits::kPageMax, all.size() - at));
    if (Status added = vouchers.addEligible(id, page, deadline); !added) {
      return added.error().during("eligible users");
    }
  }
  return {};
}

int printView(const VoucherView& view) {
  const Voucher& voucher = view.voucher;
  const VoucherSettings& settings = voucher.settings;
  std::printf("voucher    %s  %s\n", voucher.id.text().c_str(), settings.title.c_str());
  std::printf("state      %s%s\n", std::string(voucherStateName(settings.state)).c_str(),
              settings.eligibleOnly ? ", eligible users only" : "");
  std::printf("window     %s until %s\n", server::utcText(settings.begin).c_str(),
              server::utcText(settings.end).c_str());
  std::printf("limit      %d a user\n", settings.limitPerUser);
  std::printf("allocated  %s\n", countText(settings.allocated).c_str());
  std::printf("remaining  %s (store)\n", countText(voucher.remaining).c_str());
  std::printf("version    %s\n", countText(voucher.version).c_str());
  if (!view.snapshot) {
    std::printf("redis      does not answer\n");
  } else if (!view.snapshot->loaded) {
    std::printf("redis      not loaded; sluice voucher load %s opens the sale\n", voucher.id.text().c_str());
  } else {
    std::printf("redis      %s in stock, %s held by %s users, version %s\n",
                countText(view.snapshot->stock).c_str(), countText(view.snapshot->held).c_str(),
                countText(view.snapshot->holders).c_str(), countText(view.snapshot->version).c_str());
  }
  return ExitFine;
}

int load(Vouchers& vouchers, VoucherId id, Deadline deadline) {
  const Result<VoucherView> view = vouchers.load(id, deadline);
  if (!view) {
    return complain(view.error().during("load voucher " + id.text()));
  }
  std::printf("Voucher %s is loaded.\n", id.text().c_str());
  return printView(view.value());
}

int create(const GlobalOptions& globals, const Given& given) {
  const UtcTime now = systemClock().now();
  VoucherSettings fresh;
  fresh.begin = now;
  fresh.end = now + std::chrono::hours(24);
  const Result<VoucherSettings> settings = apply(given, fresh, now);
  const Result<VoucherId> id = given.id.empty() ? Result<VoucherId>(VoucherId()) : readId(given.id);
  const auto users = given.eligibleFile.empty() ? Result<std::vector<UserId>>(std::vector<UserId>())
                                                : readUsers(given.eligibleFile);
  if (!settings || !id || !users) {
    return complain(!settings ? settings.error() : !id ? id.error() : users.error());
  }
  return withVouchers(globals, [&](Vouchers& vouchers, Deadline deadline) {
    const Result<Voucher> voucher = vouchers.create(id.value(), settings.value(), deadline);
    if (!voucher) {
      return complain(voucher.error().during("create voucher"));
    }
    const VoucherId made = voucher.value().id;
    std::printf("Voucher %s is created.\n", made.text().c_str());
    if (Status added = addEligible(vouchers, made, users.value(), deadline); !added) {
      return complain(added.error());
    }
    if (given.load) {
      return load(vouchers, made, deadline);
    }
    std::printf("Its sale opens with: sluice voucher load %s\n", made.text().c_str());
    return static_cast<int>(ExitFine);
  });
}

int update(const GlobalOptions& globals, const Given& given) {
  const Result<VoucherId> id = readId(given.id);
  const auto users = given.eligibleFile.empty() ? Result<std::vector<UserId>>(std::vector<UserId>())
                                                : readUsers(given.eligibleFile);
  if (!id || !users) {
    return complain(!id ? id.error() : users.error());
  }
  return withVouchers(globals, [&](Vouchers& vouchers, Deadline deadline) {
    const Result<VoucherView> old = vouchers.show(id.value(), deadline);
    if (!old) {
      return complain(old.error());
    }
    const Result<VoucherSettings> settings = apply(given, old.value().voucher.settings, systemClock().now());
    if (!settings) {
      return complain(settings.error());
    }
    // Users first: a voucher that became "eligible only" before them would turn them away.
    if (Status added = addEligible(vouchers, id.value(), users.value(), deadline); !added) {
      return complain(added.error());
    }
    const Result<Voucher> changed =
        vouchers.update(id.value(), old.value().voucher.version, settings.value(), deadline);
    if (!changed) {
      return complain(changed.error().during("update voucher " + id.value().text()));
    }
    std::printf("Voucher %s is now at version %s.\n", id.value().text().c_str(),
                countText(changed.value().version).c_str());
    return static_cast<int>(ExitFine);
  });
}

int printList(const std::vector<VoucherView>& vouchers) {
  Table table({"VOUCHER", "TITLE", "STATE", "BEGIN", "END", "LIMIT", "ALLOCATED", "REMAINING", "REDIS STOCK",
               "HELD"});
  for (const VoucherView& view : vouchers) {
    const VoucherSettings& settings = view.voucher.settings;
    const bool loaded = view.snapshot && view.snapshot->loaded;
    table.add({view.voucher.id.text(), settings.title, std::string(voucherStateName(settings.state)),
               server::utcText(settings.begin), server::utcText(settings.end),
               std::to_string(settings.limitPerUser), countText(settings.allocated),
               countText(view.voucher.remaining),
               loaded          ? countText(view.snapshot->stock)
               : view.snapshot ? "not loaded"
                               : "away",
               loaded ? countText(view.snapshot->held) : "-"});
  }
  std::fputs(table.empty() ? "There are no vouchers.\n" : table.text().c_str(), stdout);
  return ExitFine;
}

int list(const GlobalOptions& globals, bool json) {
  return withVouchers(globals, [json](Vouchers& vouchers, Deadline deadline) {
    std::vector<VoucherView> all;
    for (bool more = true; more;) {
      const VoucherId after = all.empty() ? VoucherId() : all.back().voucher.id;
      const Result<std::vector<VoucherView>> page = vouchers.list(after, limits::kPageMax, deadline);
      if (!page) {
        return complain(page.error());
      }
      all.insert(all.end(), page.value().begin(), page.value().end());
      more = page.value().size() == limits::kPageMax;
    }
    if (!json) {
      return printList(all);
    }
    printJsonList(all, server::voucherViewJson);
    return static_cast<int>(ExitFine);
  });
}

using OneVoucher = int (*)(Vouchers& vouchers, VoucherId id, Deadline deadline);

int withOne(const GlobalOptions& globals, const std::string& text, OneVoucher work) {
  const Result<VoucherId> id = readId(text);
  if (!id) {
    return complain(id.error());
  }
  return withVouchers(
      globals, [&](Vouchers& vouchers, Deadline deadline) { return work(vouchers, id.value(), deadline); });
}

int show(Vouchers& vouchers, VoucherId id, Deadline deadline) {
  const Result<VoucherView> view = vouchers.show(id, deadline);
  return view ? printView(view.value()) : complain(view.error());
}

int showJson(Vouchers& vouchers, VoucherId id, Deadline deadline) {
  const Result<VoucherView> view = vouchers.show(id, deadline);
  if (!view) {
    return complain(view.error());
  }
  std::printf("%s\n", server::voucherViewJson(view.value()).c_str());
  return ExitFine;
}

int close(Vouchers& vouchers, VoucherId id, Deadline deadline) {
  const Result<Voucher> closed = vouchers.close(id, deadline);
  if (!closed) {
    return complain(closed.error().during("close voucher " + id.text()));
  }
  std::printf("Voucher %s is closed.\n", id.text().c_str());
  return ExitFine;
}

int sync(Vouchers& vouchers, VoucherId id, Deadline deadline) {
  const Result<SyncOutcome> outcome = vouchers.sync(id, deadline);
  if (!outcome) {
    return complain(outcome.error().during("sync voucher " + id.text()));
  }
  switch (outcome.value()) {
    case SyncOutcome::Applied:
      std::printf("Redis has the settings of the store now.\n");
      return ExitFine;
    case SyncOutcome::NotNewer:
      std::printf("Redis had the settings of the store already.\n");
      return ExitFine;
    case SyncOutcome::NotLoaded:
      return complain(
          "voucher " + id.text() + " is not in Redis; sluice voucher load " + id.text() + " brings it there",
          ExitNotFine);
    case SyncOutcome::StockTooLow:
      break;
  }
  return complain("more pieces of voucher " + id.text() +
                      " are held than the store allocates now; raise --stock with update",
                  ExitNotFine);
}

void addSettings(CLI::App* app, Given& given, bool required) {
  app->add_option("--title", given.title, "What is sold, at most 200 bytes")->required(required);
  app->add_option("--stock", given.stock, "Pieces ever put on sale")
      ->required(required)
      ->check(CLI::Range(std::int64_t{0}, limits::kAllocatedMax));
  app->add_option("--limit", given.limit,
                  required ? "Pieces a user may have (default 1)" : "Pieces a user may have")
      ->check(CLI::Range(1, limits::kLimitPerUserMax));
  app->add_option("--begin", given.begin,
                  std::string("Start of the sale: 2026-11-11T00:00:00Z, now, or +10m") +
                      (required ? " (default now)" : ""));
  app->add_option("--end", given.end,
                  std::string("End of the sale, likewise") + (required ? " (default +24h)" : ""));
  app->add_option("--eligible-file", given.eligibleFile,
                  "Only these users may order: a file with one user id a line")
      ->check(CLI::ExistingFile);
}

// `workJson` is what --json does; without one there is no such flag.
void addOne(CLI::App* parent, Invocation& invocation, const char* name, const char* what, OneVoucher work,
            OneVoucher workJson = nullptr) {
  CLI::App* app = parent->add_subcommand(name, what);
  auto id = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  app->add_option("id", *id, "Voucher")->required();
  if (workJson != nullptr) {
    app->add_flag("--json", *json, "Print it as JSON");
  }
  app->footer("Example: sluice voucher " + std::string(name) + " 1");
  app->callback([&invocation, id, json, work, workJson] {
    invocation.run = [&invocation, id, json, work, workJson] {
      return withOne(invocation.globals, *id, *json ? workJson : work);
    };
  });
}

void addList(CLI::App* parent, Invocation& invocation) {
  CLI::App* app = parent->add_subcommand("list", "All vouchers, in store and Redis");
  auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "Print a JSON list");
  app->footer("Example: sluice voucher list");
  app->callback([&invocation, json] {
    invocation.run = [&invocation, json] { return list(invocation.globals, *json); };
  });
}

void addCreate(CLI::App* parent, Invocation& invocation) {
  CLI::App* app = parent->add_subcommand("create", "Create a voucher in the store");
  auto given = std::make_shared<Given>();
  app->add_option("--id", given->id, "Its id (default: the next free one)");
  addSettings(app, *given, true);
  app->add_flag("--load", given->load, "Also bring it into Redis, so that its sale can begin");
  app->footer("Example: sluice voucher create --title 'Concert' --stock 100 --begin +10m --end +2h --load");
  app->callback([&invocation, given] {
    invocation.run = [&invocation, given] { return create(invocation.globals, *given); };
  });
}

void addUpdate(CLI::App* parent, Invocation& invocation) {
  CLI::App* app =
      parent->add_subcommand("update", "Change settings in the store and, where it is loaded, in Redis");
  auto given = std::make_shared<Given>();
  app->add_option("id", given->id, "Voucher")->required();
  addSettings(app, *given, false);
  app->add_option("--state", given->state, "on_sale or paused; sluice voucher close closes it")
      ->check(CLI::IsMember({"on_sale", "paused"}));
  app->footer("Settings that are not given stay as they are.\nExample: sluice voucher update 1 --stock 150");
  app->callback([&invocation, given] {
    invocation.run = [&invocation, given] { return update(invocation.globals, *given); };
  });
}

}  // namespace

void addVoucher(CLI::App& app, Invocation& invocation) {
  CLI::App* voucher = app.add_subcommand("voucher", "Create, load, change and close what is sold");
  voucher->require_subcommand(1);
  voucher->footer("Example: sluice voucher create --title 'Concert' --stock 100 --load");
  addCreate(voucher, invocation);
  addList(voucher, invocation);
  addOne(voucher, invocation, "show", "One voucher, in store and Redis", show, showJson);
  addOne(voucher, invocation, "load",
         "Bring a voucher into Redis: opens the sale, or rebuilds it after Redis lost it", load);
  addOne(voucher, invocation, "close", "End the sale for good", close);
  addOne(voucher, invocation, "sync", "Apply the store's settings to Redis, where an update did not reach it",
         sync);
  addUpdate(voucher, invocation);
}

}  // namespace sluice::cli
