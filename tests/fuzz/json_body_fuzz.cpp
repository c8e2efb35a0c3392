// The strict JSON reader and the order body: never both accepted and wrong.
//
// What is accepted, Poco's lenient parser reads as the same object; what the writer writes, the reader reads
// back; an order that reaches the engine has a quantity within limits, the one of the body.
#include <array>
#include <optional>
#include <string>

#include <Poco/Exception.h>
#include <Poco/JSON/Object.h>
#include <Poco/JSON/Parser.h>

#include "sluice/limits.h"

#include "fuzz/property.h"
#include "http/fake_engine.h"
#include "server/json_reader.h"
#include "server/json_writer.h"
#include "server/order_handlers.h"

namespace sluice::test {
namespace {

using server::JsonField;
using server::JsonKind;

// Each kind of member once.
struct Members {
  std::array<JsonField, 4> fields = {JsonField("s", JsonKind::String), JsonField("n", JsonKind::Integer),
                                     JsonField("b", JsonKind::Boolean), JsonField("l", JsonKind::StringList)};
  [[nodiscard]] bool read(std::string_view text) { return !server::readJsonObject(text, fields); }
};

constexpr std::int64_t kDoubleExact = std::int64_t{1} << 53;

bool same(const JsonField& a, const JsonField& b) {
  return a.present == b.present && a.text == b.text && a.number == b.number && a.flag == b.flag &&
         a.list == b.list;
}

std::string written(const Members& members) {
  std::string out;
  server::JsonWriter json(out);
  json.beginObject();
  if (members.fields[0].present) json.member("s", members.fields[0].text);
  if (members.fields[1].present) json.member("n", members.fields[1].number);
  if (members.fields[2].present) json.flag("b", members.fields[2].flag);
  if (members.fields[3].present) {
    json.key("l").beginList();
    for (const std::string& each : members.fields[3].list) {
      json.text(each);
    }
    json.endList();
  }
  json.endObject();
  return out;
}

void compareWithPoco(std::string_view bytes, const Members& members) {
  Poco::JSON::Parser parser;
  const auto object = parser.parse(std::string(bytes)).extract<Poco::JSON::Object::Ptr>();
  std::size_t present = 0;
  for (const JsonField& field : members.fields) {
    const std::string name(field.name);
    present += field.present ? 1 : 0;
    require(object->has(name) == field.present, "Poco sees the same members");
    if (!field.present) continue;
    if (field.kind == JsonKind::String)
      require(object->getValue<std::string>(name) == field.text, "Poco reads the same text");
    // Poco 1.11 takes negative numbers through a double.
    if (field.kind == JsonKind::Integer && field.number > -kDoubleExact)
      require(object->getValue<std::int64_t>(name) == field.number, "Poco reads the same number");
  }
  require(object->size() == present, "no member was passed over");
}

void readMembers(std::string_view bytes) {
  Members members;
  if (!members.read(bytes)) return;
  compareWithPoco(bytes, members);
  Members again;
  require(again.read(written(members)), "what the writer writes is read");
  for (std::size_t k = 0; k < members.fields.size(); ++k) {
    require(same(members.fields[k], again.fields[k]), "what the writer writes is read back the same");
  }
}

// The handler of orders behind its route.
class OrderRoute {
 public:
  OrderRoute() { server::addOrderRoutes(list_, engine_, fakes_.parts(), false); }

  // The quantity that reached the engine, if any did.
  std::optional<std::int32_t> post(std::string_view body, int& status) {
    std::optional<std::int32_t> quantity;
    engine_.answerWith([&quantity](const OrderRequest& request) {
      quantity = request.quantity;
      return OrderAnswer{Verdict::Admitted, OrderId(1), true};
    });
    const std::array<server::HttpHeader, 1> headers = {{{"Content-Type", "application/json"}}};
    server::HttpRequest request;
    request.method = server::Method::Post;
    request.headers = headers;
    request.body = body;
    server::HttpResponse response;
    server::Call call{request, response, {{"17"}, 1}, UserId(1)};
    for (const server::Route& route : list_.routes) {
      if (route.pattern == "/api/v1/vouchers/{id}/orders") list_.handlers[route.handler](call);
    }
    status = response.status;
    return quantity;
  }

 private:
  Fakes fakes_;
  FakeEngine engine_{fakes_};
  server::RouteList list_;
};

void postOrder(std::string_view bytes) {
  static OrderRoute route;
  int status = 0;
  const auto quantity = route.post(bytes, status);
  require(quantity.has_value() == (status == 202), "accepted means that the engine was asked");
  require(quantity || (status >= 400 && status < 500), "what is refused is the client's fault");
  if (!quantity) return;
  require(*quantity >= 1 && *quantity <= limits::kQuantityMax, "quantity within limits");
  JsonField field("quantity", JsonKind::Integer);
  const bool read = bytes.empty() || !server::readJsonObject(bytes, {&field, 1});
  require(read && (field.present ? field.number == *quantity : *quantity == 1), "the quantity of the body");
}

}  // namespace
}  // namespace sluice::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = sluice::test::bytesOf(data, size);
  sluice::test::readMembers(bytes);
  sluice::test::postOrder(bytes);
  return 0;
}
