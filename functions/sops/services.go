package main

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/getsops/sops/v3/keyservice"
)

// refusal returns why a key of the metadata is not used, and "" if it may be used.
//
// The author of an encrypted file is not trusted with the credentials of the user, but the library
// takes addresses from the file: of the Vault server that gets VAULT_TOKEN, of the Azure vault that
// gets an access token, and the region of AWS, a part of the name of the host that gets the token
// in AWS_WEB_IDENTITY_TOKEN_FILE. Therefore Vault has the address in VAULT_ADDR, and the others
// have names that only the provider can register. An ARN, a role or a resource ID of a different
// account sends no credential there: requests for it go to the provider, which checks them.
func refusal(k *keyservice.Key) string {
	switch k := k.GetKeyType().(type) {
	case *keyservice.Key_VaultKey:
		return refuseVault(k.VaultKey)
	case *keyservice.Key_KmsKey:
		switch {
		case !awsKey.MatchString(k.KmsKey.Arn):
			return "the ARN does not have the form arn:aws:kms:REGION:ACCOUNT:key/ID"
		case k.KmsKey.Role != "" && !awsRole.MatchString(k.KmsKey.Role):
			return "the role does not have the form arn:aws:iam::ACCOUNT:role/NAME"
		case k.KmsKey.AwsProfile != "" && k.KmsKey.AwsProfile != os.Getenv("AWS_PROFILE"):
			return "aws_profile in the file selects the credentials of a profile: remove it"
		}
	case *keyservice.Key_AzureKeyvaultKey:
		return refuseAzure(k.AzureKeyvaultKey)
	case *keyservice.Key_GcpKmsKey:
		if !gcpKey.MatchString(k.GcpKmsKey.ResourceId) {
			return "the resource ID does not have the form projects/ID/locations/ID/keyRings/ID/cryptoKeys/ID"
		}
	case *keyservice.Key_HckmsKey:
		if !huaweiKey.MatchString(k.HckmsKey.KeyId) {
			return "the key ID does not have the form REGION:ID"
		}
	}
	return ""
}

var (
	awsKey    = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z]{2,5}(-[a-z]{1,12}){1,3}-[0-9]{1,2}:[0-9]+:(key|alias)/[\w/-]+$`)
	awsRole   = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]+:role/[\w+=,.@/-]+$`)
	gcpKey    = regexp.MustCompile(`^projects/[\w.:-]+/locations/[\w-]+/keyRings/[\w-]+/cryptoKeys/[\w-]+$`)
	huaweiKey = regexp.MustCompile(`^[a-z]{2,5}(-[a-z0-9]{1,12}){1,4}:[\w-]+$`)
	azureName = regexp.MustCompile(`^[0-9A-Za-z-]+$`)
	vaultName = regexp.MustCompile(`^[\w-][\w.-]*$`)
)

// refuseVault also replaces the address by the one in VAULT_ADDR, so that no difference between two
// parsers of addresses matters.
func refuseVault(k *keyservice.VaultKey) string {
	granted := os.Getenv("VAULT_ADDR")
	if granted == "" {
		return noVaultAddress
	}
	want, ok := server(granted)
	if !ok {
		return "VAULT_ADDR is not an address of the form https://HOST:PORT"
	}
	if got, ok := server(k.VaultAddress); !ok || got != want {
		return "the address differs from VAULT_ADDR, the only server that gets VAULT_TOKEN"
	}
	// The library joins and cleans the path. Others than transit/decrypt/KEY may write.
	for _, name := range append(strings.Split(k.EnginePath, "/"), k.KeyName) {
		if !vaultName.MatchString(name) {
			return "the engine_path or the key_name is not a name in Vault"
		}
	}
	k.VaultAddress = granted
	return ""
}

const noVaultAddress = "VAULT_ADDR is not set: it names the only server that gets VAULT_TOKEN"

// server returns the normal form of the address of a server: http or https, the host, the port and
// the path. It reports false for other addresses.
func server(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", false
	}
	port := u.Port()
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return "", false
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port) + strings.TrimRight(u.EscapedPath(), "/"), true
}

// azureDomains have the vaults and the managed HSMs of the clouds of Azure.
var azureDomains = []string{
	".vault.azure.net", ".vault.azure.cn", ".vault.usgovcloudapi.net", ".vault.microsoftazure.de",
	".managedhsm.azure.net", ".managedhsm.azure.cn", ".managedhsm.usgovcloudapi.net",
}

func refuseAzure(k *keyservice.AzureKeyVaultKey) string {
	address, _ := server(k.VaultUrl)
	host, ok := strings.CutPrefix(address, "https://")
	host, isPort := strings.CutSuffix(host, ":443")
	if ok && isPort {
		for _, domain := range azureDomains {
			name, found := strings.CutSuffix(host, domain)
			switch {
			case !found || !azureName.MatchString(name):
			case !azureName.MatchString(k.Name) || k.Version != "" && !azureName.MatchString(k.Version):
				return "the name or the version is not a name in Azure Key Vault"
			default:
				return ""
			}
		}
	}
	return "the vault_url is not an address of Azure Key Vault, such as https://NAME.vault.azure.net"
}

// keepHome replaces a HOME that the tree could fill, which is below dir or relative to it. The
// clients of key services read files there that select commands and addresses for credentials, for
// example .aws/config. krmflow itself starts functions with an empty HOME.
func keepHome(dir string) error {
	name, none := "HOME", "/nonexistent"
	if runtime.GOOS == "windows" {
		name, none = "USERPROFILE", filepath.Join(os.Getenv("SystemRoot"), "nonexistent")
	}
	home := os.Getenv(name)
	if filepath.IsAbs(home) {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		dir, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return err
		}
		if rel, err := filepath.Rel(dir, home); err != nil || !filepath.IsLocal(rel) {
			return nil
		}
	}
	// The client of AWS reads HOME before main starts.
	for variable, file := range map[string]string{"AWS_CONFIG_FILE": "config", "AWS_SHARED_CREDENTIALS_FILE": "credentials"} {
		if os.Getenv(variable) == "" {
			if err := os.Setenv(variable, filepath.Join(none, ".aws", file)); err != nil {
				return err
			}
		}
	}
	return os.Setenv(name, none)
}
