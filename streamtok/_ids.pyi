from typing import final

@final
class IdBuffer: ...

@final
class Lease: ...
