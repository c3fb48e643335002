// Package browser has tests alone: of the page in Chromium.
package browser
