// sluice orders: shows, lists and cancels orders.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/json_list.h"
#include "cli/text.h"
#include "server/utc_text.h"

namespace sluice::cli {
namespace {

struct Given {
  std::string order;
  std::string voucher;
  std::string user;
  std::string status;
  std::string after;
  std::size_t max = 100;
  bool json = false;
};

struct Named {
  OrderId order;
  VoucherId voucher;
  UserId user;
  OrderId after;
};

// An id that may be left out; then it is none.
template <typename IdType>
Status readId(const std::string& text, const char* what, IdType& target) {
  if (text.empty()) {
    return {};
  }
  const auto id = parseId<IdType>(text);
  if (!id) {
    return {ErrorCode::InvalidArgument,
            "'" + text + "' is not " + what + "; ids are whole numbers from 1 up"};
  }
  target = *id;
  return {};
}

Result<Named> readNamed(const Given& given) {
  Named named;
  for (const Status& status :
       {readId(given.order, "an order id", named.order), readId(given.voucher, "a voucher id", named.voucher),
        readId(given.user, "a user id", named.user), readId(given.after, "an order id", named.after)}) {
    if (!status) {
      return status.error();
    }
  }
  return named;
}

using Work = int (*)(const Named& named, const Given& given, Parts parts, Deadline deadline);

int withNamed(const GlobalOptions& globals, const Given& given, Work work) {
  const Result<Named> named = readNamed(given);
  if (!named) {
    return complain(named.error());
  }
  return withSystem(globals, [&](System& system, const Config&) {
    return work(named.value(), given, system.parts(), Deadline::in(kCommandDeadline));
  });
}

int complainOrder(const Error& error, const Named& named) {
  const bool mayBeQueued =
      error.code == ErrorCode::NotFound && (!named.voucher.valid() || !named.user.valid());
  return complain(mayBeQueued
                      ? error.text + "; an order that is still queued is found only with --voucher and --user"
                      : error.text,
                  exitCodeOf(error.code));
}

int print(const OrderView& view, bool json) {
  if (json) {
    std::printf("%s\n", server::orderViewJson(view).c_str());
    return ExitFine;
  }
  std::printf("order     %s\nvoucher   %s\nuser      %s\npieces    %d\n", view.id.text().c_str(),
              view.voucher.text().c_str(), view.user.text().c_str(), view.quantity);
  std::printf("status    %s%s\n", std::string(view.status).c_str(),
              view.delayed ? ", delayed: it lies in the dead letters" : "");
  if (!view.row) {
    return ExitFine;
  }
  const Order& row = *view.row;
  if (row.reason != DeadReason::None) {
    std::printf("reason    %s\n", std::string(deadReasonName(row.reason)).c_str());
  }
  std::printf("admitted  %s\nstored    %s\nchanged   %s\n", server::utcText(row.admittedAt).c_str(),
              server::utcText(row.storedAt).c_str(), server::utcText(row.updatedAt).c_str());
  if (row.payBy) {
    std::printf("pay by    %s\n", server::utcText(*row.payBy).c_str());
  }
  if (row.releasedAt) {
    std::printf("released  %s\n", server::utcText(*row.releasedAt).c_str());
  }
  return ExitFine;
}

int show(const Named& named, const Given& given, Parts parts, Deadline deadline) {
  const Result<OrderView> view = Orders(parts).find(named.order, named.voucher, named.user, deadline);
  return view ? print(view.value(), given.json) : complainOrder(view.error(), named);
}

int cancel(const Named& named, const Given& given, Parts parts, Deadline deadline) {
  const Result<OrderView> view =
      Orders(parts).cancel(named.order, named.voucher, named.user, DeadReason::ByOperator, deadline);
  return view ? print(view.value(), given.json) : complainOrder(view.error(), named);
}

int list(const Named& named, const Given& given, Parts parts, Deadline deadline) {
  const auto status = given.status.empty() ? std::nullopt : parseOrderStatus(given.status);
  const Result<std::vector<Order>> rows =
      parts.store.listOrders(named.voucher, named.user, status, named.after, given.max, deadline);
  if (!rows) {
    return complain(rows.error());
  }
  if (given.json) {
    printJsonList(rows.value(), server::orderJson);
    return ExitFine;
  }

  Table table({"ORDER", "USER", "PIECES", "STATUS", "REASON", "ADMITTED", "STORED"});
  for (const Order& row : rows.value()) {
    table.add({row.id.text(), row.user.text(), std::to_string(row.quantity),
               std::string(orderStatusName(row.status)),
               row.reason == DeadReason::None ? "-" : std::string(deadReasonName(row.reason)),
               server::utcText(row.admittedAt), server::utcText(row.storedAt)});
  }
  std::fputs(table.empty() ? "No orders.\n" : table.text().c_str(), stdout);
  if (rows.value().size() == given.max) {
    std::printf("There may be more: --after %s\n", rows.value().back().id.text().c_str());
  }
  return ExitFine;
}

void run(CLI::App* app, Invocation& invocation, const std::shared_ptr<Given>& given, Work work) {
  app->callback([&invocation, given, work] {
    invocation.run = [&invocation, given, work] { return withNamed(invocation.globals, *given, work); };
  });
}

void addOne(CLI::App* parent, Invocation& invocation, const char* name, const char* what, Work work) {
  CLI::App* app = parent->add_subcommand(name, what);
  auto given = std::make_shared<Given>();
  app->add_option("order", given->order, "Order")->required();
  app->add_option("--voucher", given->voucher, "Its voucher; needed while it is queued");
  app->add_option("--user", given->user, "Its user; needed while it is queued");
  app->add_flag("--json", given->json, "Print it as JSON");
  app->footer("Example: sluice orders " + std::string(name) + " 123456789 --voucher 1 --user 42");
  run(app, invocation, given, work);
}

void addList(CLI::App* parent, Invocation& invocation) {
  CLI::App* app = parent->add_subcommand("list", "Stored orders of a voucher, by id");
  auto given = std::make_shared<Given>();
  app->add_option("voucher", given->voucher, "Voucher")->required();
  app->add_option("--user", given->user, "Only this user's");
  app->add_option("--status", given->status,
                  "Only these: pending_payment, paid, rejected, cancelled or refunded")
      ->check(CLI::IsMember({"pending_payment", "paid", "rejected", "cancelled", "refunded"}));
  app->add_option("--after", given->after, "Only orders after this one");
  app->add_option("--max", given->max, "At most so many (default 100)")
      ->check(CLI::Range(std::size_t{1}, limits::kPageMax));
  app->add_flag("--json", given->json, "Print a JSON list");
  app->footer("Example: sluice orders list 1 --status cancelled --max 20");
  run(app, invocation, given, list);
}

}  // namespace

void addOrders(CLI::App& app, Invocation& invocation) {
  CLI::App* orders = app.add_subcommand("orders", "Show, list and cancel orders");
  orders->require_subcommand(1);
  orders->footer("Example: sluice orders list 1");
  addOne(orders, invocation, "show", "One order, stored or still queued", show);
  addOne(orders, invocation, "cancel", "Cancel an order that is not paid, and give its stock back", cancel);
  addList(orders, invocation);
}

}  // namespace sluice::cli
