#include "base/broadcast_bytes.h"

#define FOUR(n) (n) * 0x01010101u, ((n) + 1) * 0x01010101u, ((n) + 2) * 0x01010101u, ((n) + 3) * 0x01010101u
#define SIXTEEN(n) FOUR(n), FOUR((n) + 4), FOUR((n) + 8), FOUR((n) + 12)
#define SIXTY_FOUR(n) SIXTEEN(n), SIXTEEN((n) + 16), SIXTEEN((n) + 32), SIXTEEN((n) + 48)

const uint32_t st_every_byte[256] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};
