// Package yore is the facade of the module.
package yore
