// From declared JSON members to VoucherSettings; whether the settings are sound is faultOf's word.
#include "voucher_body.h"

#include <limits>

#include "problem.h"
#include "utc_text.h"

namespace sluice::server {

namespace {

constexpr std::string_view kTimeRule = "begin and end must be like 2026-11-11T12:00:00Z.";
constexpr std::string_view kStateRule = "state must be on_sale, paused or closed.";

std::vector<JsonField> settingsFields(bool required) {
  return {{"title", JsonKind::String, required}, {"begin", JsonKind::String, required},
          {"end", JsonKind::String, required},   {"stock", JsonKind::Integer, required},
          {"limitPerUser", JsonKind::Integer},   {"state", JsonKind::String},
          {"eligibleOnly", JsonKind::Boolean}};
}

bool refuse(Call& call, std::string_view detail) {
  setProblem(call.response, 400, "BAD_BODY", detail);
  return false;
}

bool applyTime(const JsonField& field, UtcTime& time) {
  const auto parsed = parseUtcText(field.text);
  if (parsed) time = *parsed;
  return parsed.has_value();
}

// What does not fit 32 bits becomes the largest, which faultOf refuses with its range.
std::int32_t narrowed(std::int64_t number) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(number < 0 || number > kMost ? kMost : number);
}

bool applySettings(Call& call, std::span<const JsonField> fields, VoucherSettings& settings) {
  enum Index : std::size_t { Title, Begin, End, Stock, Limit, State, Eligible };
  if (fields[Title].present) settings.title = fields[Title].text;
  if (fields[Begin].present && !applyTime(fields[Begin], settings.begin)) return refuse(call, kTimeRule);
  if (fields[End].present && !applyTime(fields[End], settings.end)) return refuse(call, kTimeRule);
  if (fields[Stock].present) settings.allocated = fields[Stock].number;
  if (fields[Limit].present) settings.limitPerUser = narrowed(fields[Limit].number);
  if (fields[Eligible].present) settings.eligibleOnly = fields[Eligible].flag;
  if (fields[State].present) {
    const auto state = parseVoucherState(fields[State].text);
    if (!state) return refuse(call, kStateRule);
    settings.state = *state;
  }
  const auto fault = faultOf(settings);
  return !fault || refuse(call, *fault);
}

}  // namespace

bool readNewVoucher(Call& call, NewVoucher& voucher) {
  std::vector<JsonField> fields = settingsFields(true);
  fields.emplace_back("id", JsonKind::String);
  if (!readBody(call, fields)) return false;
  const JsonField& id = fields.back();
  if (id.present) {
    const auto parsed = parseId<VoucherId>(id.text);
    if (!parsed)
      return refuse(call, "id must be a string with a decimal number from 1 to 9223372036854775807.");
    voucher.id = *parsed;
  }
  return applySettings(call, fields, voucher.settings);
}

VoucherChange::VoucherChange() : fields_(settingsFields(false)) {
  fields_.emplace_back("version", JsonKind::Integer, true);
}

bool VoucherChange::read(Call& call) { return readBody(call, fields_); }

std::int64_t VoucherChange::version() const noexcept { return fields_.back().number; }

bool VoucherChange::apply(Call& call, VoucherSettings& settings) const {
  return applySettings(call, fields_, settings);
}

}  // namespace sluice::server
