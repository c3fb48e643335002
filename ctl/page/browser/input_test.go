package browser

import "github.com/chromedp/chromedp"

// click clicks on the first element that a selector matches.
func click(selector string) chromedp.Action { return chromedp.Click(selector, chromedp.ByQuery) }
