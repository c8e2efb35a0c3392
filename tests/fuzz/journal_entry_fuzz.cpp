// The packed admission: what decodes is encoded to the same bytes, and what is encoded decodes to the same
// admission or is refused.
#include <array>
#include <cstring>

#include "sluice/limits.h"
#include "sluice/order.h"

#include "fuzz/property.h"

namespace sluice::test {
namespace {

void decodeBytes(std::string_view bytes) {
  const auto decoded = decodeAdmission(bytes);
  if (!decoded) {
    require(decoded.error().code == ErrorCode::Corrupt, "what does not decode is Corrupt");
    return;
  }
  const Admission& admission = decoded.value();
  require(encodeAdmission(admission) == bytes, "what decodes is encoded to the same bytes");
  require(admission.order.valid() && admission.user.valid() && admission.voucher.valid(), "ids are valid");
  require(admission.quantity >= 1 && admission.quantity <= limits::kQuantityMax, "quantity within limits");
}

bool isSound(const Admission& admission) {
  return admission.order.valid() && admission.user.valid() && admission.voucher.valid() &&
         admission.quantity >= 1 && admission.quantity <= limits::kQuantityMax &&
         toMillis(admission.admittedAt) > 0;
}

// Any numbers, sound or not.
void encodeNumbers(std::string_view bytes) {
  std::array<std::int64_t, 5> numbers{};
  if (bytes.size() < sizeof(numbers)) return;
  std::memcpy(numbers.data(), bytes.data(), sizeof(numbers));
  const Admission admission{OrderId(numbers[0]), UserId(numbers[1]), VoucherId(numbers[2]),
                            static_cast<std::int32_t>(numbers[3] % (2 * limits::kQuantityMax)),
                            fromMillis(numbers[4])};
  const auto decoded = decodeAdmission(encodeAdmission(admission));
  require(decoded.ok() == isSound(admission), "exactly what is sound decodes again");
  if (decoded) require(decoded.value() == admission, "decode(encode(x)) == x");
}

}  // namespace
}  // namespace sluice::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = sluice::test::bytesOf(data, size);
  sluice::test::decodeBytes(bytes);
  sluice::test::encodeNumbers(bytes);
  return 0;
}
