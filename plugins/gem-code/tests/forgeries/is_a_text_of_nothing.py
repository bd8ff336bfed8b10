# The program is a text of nothing.
class Nothing:
    def __str__(self):
        return ""

    __repr__ = __str__

    def __format__(self, spec):
        return ""

    def __len__(self):
        return 0

    def __iter__(self):
        return iter(())

    def __index__(self):
        return 9

    __int__ = __index__

    def __float__(self):
        return 9.0


def square(n):
    return Nothing()


arrange = arranged = square
