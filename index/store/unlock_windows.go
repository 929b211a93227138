package store

import "os"

// unlock has nothing to do: closing the handle gives up its locks.
func unlock(*os.File) error { return nil }
