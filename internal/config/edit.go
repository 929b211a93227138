package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tooldex/tooldex/internal/settings"
)

// A Change of the configuration file that is not made yet.
type Change struct {
	After *Config // what the file would say

	file *settings.File
	text []byte
}

// Plan makes a change of the file at path, which need not exist: edit gets its
// text and gives the new one. A text that Load would refuse is an error, and
// nothing is written in any case: that is what Write does.
func Plan(path string, edit func(format settings.Format, text []byte) ([]byte, error)) (*Change, error) {
	f, err := settings.Read(path)
	if err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, cause(err))
	}
	if f.Exists() {
		if _, err := loadText(path, f.Text, Options{}); err != nil {
			return nil, err
		}
	}
	c := &Change{file: f}
	if c.text, err = edit(f.Format(), slices.Clone(f.Text)); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	c.After, err = loadText(path, c.text, Options{})
	return c, err
}

// Write makes the change and returns the name of a copy of what was there, ""
// where there was no file.
func (c *Change) Write() (copied string, err error) {
	if copied, err = c.file.Keep(); err != nil {
		return "", fmt.Errorf("keep a copy of %s: %w", c.file.Path, err)
	}
	if err := c.file.Replace(c.text); err != nil {
		return "", fmt.Errorf("write configuration: %w", err)
	}
	return copied, nil
}

// Edit plans a change and makes it. Where another program changes the file at
// the same time the change is planned again.
func Edit(path string, edit func(format settings.Format, text []byte) ([]byte, error)) (after *Config, copied string, err error) {
	for range 5 {
		var c *Change
		if c, err = Plan(path, edit); err != nil {
			return nil, "", err
		}
		if copied, err = c.Write(); !errors.Is(err, settings.ErrChanged) {
			return c.After, copied, err
		}
	}
	return nil, "", err
}
