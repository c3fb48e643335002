package openapi

import (
	"net/http"
	"strings"

	"ibsm/ctl"
	"ibsm/rights"
)

// meanings are the statuses of errors.
var meanings = map[int]string{
	http.StatusBadRequest:            "The request is not valid.",
	http.StatusUnauthorized:          "There is no credential, or it is no user's.",
	http.StatusForbidden:             "The user may not do this, or a page of another site has sent the request.",
	http.StatusNotFound:              "There is no such thing.",
	http.StatusConflict:              "A partition of the file, or another one of a program, is in the way.",
	http.StatusPreconditionFailed:    "The partition is not in the state that If-Match or If-None-Match names.",
	http.StatusRequestEntityTooLarge: "The body is too long.",
	http.StatusTooManyRequests:       "The user sends too many requests, or too many passwords wait for their check.",
	http.StatusInternalServerError:   "An internal error.",
	http.StatusServiceUnavailable:    "Not now: the manager is not the master, or has too much to do.",
	http.StatusInsufficientStorage:   "No P_Key is free, or no more partitions or members are stored.",
}

// failing are the statuses of errors that a route may reply with.
func failing(rt *ctl.Route) []int {
	all := []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError,
		http.StatusServiceUnavailable}
	if rt.Right != rights.Anyone {
		all = append(all, http.StatusUnauthorized, http.StatusTooManyRequests)
	}
	if rt.Body.Type != "" {
		all = append(all, http.StatusRequestEntityTooLarge)
	}
	if rt.Right == rights.ChangeOwn {
		all = append(all, http.StatusConflict, http.StatusPreconditionFailed, http.StatusInsufficientStorage)
	}
	return all
}

// failureName is the name of a reply with an error.
func failureName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

// failures are all replies with an error.
func failures(schema object) object {
	all := object{}
	for status, meaning := range meanings {
		response := object{"description": meaning, "content": object{jsonType: object{"schema": schema}}}
		header := map[int]string{http.StatusUnauthorized: "WWW-Authenticate", http.StatusTooManyRequests: "Retry-After",
			http.StatusServiceUnavailable: "Retry-After"}[status]
		if header != "" {
			response["headers"] = object{header: object{"schema": object{"type": "string"}}}
		}
		all[failureName(status)] = response
	}
	return all
}
