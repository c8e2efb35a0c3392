// SOCI's headers, without Boost.
//
// Debian's build of SOCI switches on its adapters for Boost types in every program that includes it. They are
// templates in headers that we do not use, and would cost every builder the whole of Boost; the library
// itself is the same without them.
#pragma once

#include <soci/soci-config.h>
#undef SOCI_HAVE_BOOST
#undef SOCI_HAVE_BOOST_DATE_TIME
#include <soci/soci.h>
